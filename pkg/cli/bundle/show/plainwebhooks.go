package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
)

// interceptionsOf returns the rows of an object that is called for requests, or decides about them. A configuration without
// webhooks has none.
func (c *contents) interceptionsOf(o any) []Webhook {
	switch o := o.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return c.plainWebhooks("Mutating", o.Name, webhookconfig.Webhooks(o))
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return c.plainWebhooks("Validating", o.Name, o.Webhooks)
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return []Webhook{policyRow(validatingPolicy, o.Name, o.Spec.MatchConstraints, o.Spec.FailurePolicy, c.definitions)}
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return []Webhook{policyRow(mutatingPolicy, o.Name, o.Spec.MatchConstraints, o.Spec.FailurePolicy, c.definitions)}
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		row := c.bindingRow(validatingPolicy, o.Name, o.Spec.PolicyName, o.Spec.MatchResources)
		row.OnFailure = strings.Join(lists.Texts(o.Spec.ValidationActions), ", ")
		return []Webhook{row}
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		return []Webhook{c.bindingRow(mutatingPolicy, o.Name, o.Spec.PolicyName, o.Spec.MatchResources)}
	case *apiregistrationv1.APIService:
		return []Webhook{plainAPIService(o)}
	default:
		return nil
	}
}

func (c *contents) plainWebhooks(kind, configuration string, webhooks []admissionregistrationv1.ValidatingWebhook) []Webhook {
	return lists.Map(webhooks, func(w admissionregistrationv1.ValidatingWebhook) Webhook {
		return Webhook{
			Type: kind, Name: w.Name, Object: kind + "WebhookConfiguration " + configuration, Calls: called(w.ClientConfig.URL, w.ClientConfig.Service), Intercepts: interceptsOf(w.Rules),
			Where:     whereOf(w.Rules, c.definitions, selectedBy(w.NamespaceSelector), w.ObjectSelector),
			OnFailure: string(ptr.Deref(w.FailurePolicy, admissionregistrationv1.Fail)), TimeoutSeconds: ptr.Deref(w.TimeoutSeconds, 10),
		}
	})
}

func called(url *string, service *admissionregistrationv1.ServiceReference) string {
	switch {
	case url != nil:
		return *url
	case service != nil:
		return fmt.Sprintf("Service %s/%s", service.Namespace, service.Name)
	default:
		return ""
	}
}

const validatingPolicy, mutatingPolicy = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"

func policyRow(kind, name string, matches *admissionregistrationv1.MatchResources, on *admissionregistrationv1.FailurePolicyType, crds []*apiextensionsv1.CustomResourceDefinition) Webhook {
	row := Webhook{Type: "Policy", Name: name, Object: kind + " " + name, Where: "where its bindings apply it", OnFailure: string(ptr.Deref(on, admissionregistrationv1.Fail))}
	if matches == nil {
		return row
	}
	rules := webhookconfig.RulesOf(matches)
	row.Intercepts = interceptsOf(rules)
	row.Where = whereOf(rules, crds, selectedBy(matches.NamespaceSelector), matches.ObjectSelector)
	return row
}

// bindingRow is the row of a binding, which turns on a policy. The policy may be one of the cluster, and may match
// cluster-scoped objects, which a namespaceSelector does not limit.
func (c *contents) bindingRow(kind, name, policy string, matches *admissionregistrationv1.MatchResources) Webhook {
	row := Webhook{
		Type: "Policy", Name: name, Object: fmt.Sprintf("%sBinding %s, turns on %s %s", kind, name, kind, policy),
		Intercepts: []string{fmt.Sprintf("what %s %s matches", kind, policy)}, Where: "wherever the policy matches", OnFailure: "failurePolicy of the policy",
	}
	if !c.bringsPolicy(kind, policy) {
		row.Object += ", which the bundle does not bring"
	}
	if matches == nil {
		return row
	}
	if text := selectorText(matches.NamespaceSelector); text != "" {
		row.Where += "; namespaced objects only in namespaces with " + text
	}
	if text := selectorText(matches.ObjectSelector); text != "" {
		row.Where += ", if " + text
	}
	if rules := webhookconfig.RulesOf(matches); len(rules) > 0 {
		row.Intercepts = interceptsOf(rules)
		row.Where = whereOf(rules, c.definitions, selectedBy(matches.NamespaceSelector), matches.ObjectSelector)
	}
	return row
}

func (c *contents) bringsPolicy(kind, name string) bool {
	return slices.ContainsFunc(c.intercepts, func(o any) bool {
		switch o := o.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			return kind == validatingPolicy && o.Name == name
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			return kind == mutatingPolicy && o.Name == name
		default:
			return false
		}
	})
}

func plainAPIService(o *apiregistrationv1.APIService) Webhook {
	row := Webhook{
		Type: apiService, Name: o.Name, Object: "APIService " + o.Name, Where: everywhere, OnFailure: fail, Calls: "API server",
		Intercepts: []string{fmt.Sprintf("all requests for %s/%s", o.Spec.Group, o.Spec.Version)},
	}
	if s := o.Spec.Service; s != nil {
		row.Calls = fmt.Sprintf("Service %s/%s", s.Namespace, s.Name)
	}
	if o.Spec.InsecureSkipTLSVerify {
		row.Calls += ", whose certificate is not verified"
	}
	return row
}

func conversionOf(crd *apiextensionsv1.CustomResourceDefinition) []Webhook {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return nil
	}
	calls := called(c.Webhook.ClientConfig.URL, (*admissionregistrationv1.ServiceReference)(c.Webhook.ClientConfig.Service))
	return []Webhook{{
		Type: "Conversion", Name: crd.Name, Object: "CustomResourceDefinition " + crd.Name, Calls: cmp.Or(calls, "nothing"),
		Intercepts: []string{"converts " + crd.Name}, Where: "wherever they are", OnFailure: fail,
	}}
}
