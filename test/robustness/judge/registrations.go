package judge

import (
	"cmp"
	"encoding/json"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// registration is one webhook of a configuration, the conversion of a CustomResourceDefinition, or an APIService.
type registration struct {
	object  history.Ref
	webhook string
	// service is the Service that is called; a registration with a URL has none.
	service  history.Ref
	caBundle []byte
	// admission is nil for conversions and APIServices.
	admission *admission
}

// admission are the fields by which a webhook of a configuration may be weaker or stronger.
type admission struct {
	FailurePolicy     *admissionregistrationv1.FailurePolicyType   `json:"failurePolicy"`
	Rules             []admissionregistrationv1.RuleWithOperations `json:"rules"`
	NamespaceSelector *metav1.LabelSelector                        `json:"namespaceSelector"`
	ObjectSelector    *metav1.LabelSelector                        `json:"objectSelector"`
	MatchConditions   []admissionregistrationv1.MatchCondition     `json:"matchConditions"`
}

type clientConfig struct {
	Service *struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"service"`
	CABundle []byte `json:"caBundle"`
}

// registrationsOf returns what an object registers, without probes; nothing for objects of other kinds.
func (c *cluster) registrationsOf(object history.Ref, content history.Object) []registration {
	var parsed struct {
		Webhooks []struct {
			Name         string       `json:"name"`
			ClientConfig clientConfig `json:"clientConfig"`
			admission
		} `json:"webhooks"`
		Spec struct {
			clientConfig
			Conversion *struct {
				Webhook *struct {
					ClientConfig *clientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
	}
	if !registers[object.Kind] || content == nil || !into(content, &parsed) {
		return nil
	}
	var all []registration
	add := func(name string, config clientConfig, a *admission) {
		isProbe := c.probes != "" && strings.HasSuffix(name, c.probes) && a != nil && len(requirements(a.ObjectSelector)) > 0
		if config.Service != nil && !isProbe {
			all = append(all, registration{object.Key(), name, history.Ref{Kind: "Service", Namespace: config.Service.Namespace, Name: config.Service.Name}, config.CABundle, a})
		}
	}
	for _, w := range parsed.Webhooks {
		add(w.Name, w.ClientConfig, &w.admission)
	}
	if conversion := parsed.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		add("", *conversion.Webhook.ClientConfig, nil)
	}
	if object.Kind == "APIService" {
		add("", parsed.Spec.clientConfig, nil)
	}
	return all
}

var registers = map[string]bool{
	"ValidatingWebhookConfiguration": true, "MutatingWebhookConfiguration": true, "CustomResourceDefinition": true, "APIService": true,
}

// find returns the registration with the name of a webhook.
func find(all []registration, webhook string) (registration, bool) {
	for _, r := range all {
		if r.webhook == webhook {
			return r, true
		}
	}
	return registration{}, false
}

// into decodes a part of an object.
func into(content history.Object, to any) bool {
	text, err := json.Marshal(content)
	return err == nil && json.Unmarshal(text, to) == nil
}

func compareRefs(a, b history.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
