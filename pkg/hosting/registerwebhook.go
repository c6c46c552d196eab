package hosting

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each webhook has a configuration of its own: several processes may each register some
// of the webhooks, and none overwrites another's.
func (r *registrar) configurationName(e *endpoint) string {
	return r.process + "-" + e.name
}

// webhookName is what clients see when a request is refused. API servers want three
// labels.
func (r *registrar) webhookName(e *endpoint) string {
	return e.name + "." + r.process + ".hosting"
}

func (r *registrar) writeValidating(ctx context.Context, e *endpoint) error {
	configurations := r.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	return writeConfiguration(ctx, configurations, r.configurationName(e), func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
		var others []byte
		if len(c.Webhooks) == 1 {
			others = c.Webhooks[0].ClientConfig.CABundle
		}
		webhook, err := r.validatingWebhook(e, others)
		c.Name, c.Webhooks = r.configurationName(e), []admissionregistrationv1.ValidatingWebhook{webhook}
		return err
	})
}

func (r *registrar) writeMutating(ctx context.Context, e *endpoint) error {
	configurations := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	return writeConfiguration(ctx, configurations, r.configurationName(e), func(c *admissionregistrationv1.MutatingWebhookConfiguration) error {
		var others []byte
		if len(c.Webhooks) == 1 {
			others = c.Webhooks[0].ClientConfig.CABundle
		}
		webhook, err := r.validatingWebhook(e, others)
		c.Name, c.Webhooks = r.configurationName(e), []admissionregistrationv1.MutatingWebhook{
			mutatingWebhook(webhook, e.webhook.Registration.ReinvocationPolicy),
		}
		return err
	})
}

// configurations are the client's, of one form of webhook.
type configurations[C any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*C, error)
	Create(ctx context.Context, c *C, opts metav1.CreateOptions) (*C, error)
	Update(ctx context.Context, c *C, opts metav1.UpdateOptions) (*C, error)
}

// writeConfiguration fills the configuration that there is, or a new one.
func writeConfiguration[C any](ctx context.Context, client configurations[C], name string, fill func(*C) error) error {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	absent := apierrors.IsNotFound(err)
	switch {
	case absent:
		live = new(C)
	case err != nil:
		return err
	}
	if err := fill(live); err != nil {
		return err
	}
	if absent {
		_, err = client.Create(ctx, live, metav1.CreateOptions{})
	} else {
		_, err = client.Update(ctx, live, metav1.UpdateOptions{})
	}
	return err
}

func (r *registrar) validatingWebhook(e *endpoint, others []byte) (admissionregistrationv1.ValidatingWebhook, error) {
	reg := e.webhook.Registration.withDefaults()
	rules, err := r.rules(e.webhook)
	if err != nil {
		return admissionregistrationv1.ValidatingWebhook{}, err
	}
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    r.webhookName(e),
		ClientConfig:            r.options.clientConfig(e.webhook.Path, r.bundle(others)),
		Rules:                   rules,
		FailurePolicy:           &reg.FailurePolicy,
		SideEffects:             &reg.SideEffects,
		TimeoutSeconds:          &reg.TimeoutSeconds,
		NamespaceSelector:       r.namespaceSelector(reg),
		ObjectSelector:          reg.ObjectSelector,
		MatchConditions:         reg.MatchConditions,
		AdmissionReviewVersions: admissionVersions(e.webhook),
	}, nil
}

// mutatingWebhook has the same fields but one.
func mutatingWebhook(w admissionregistrationv1.ValidatingWebhook, again admissionregistrationv1.ReinvocationPolicyType) admissionregistrationv1.MutatingWebhook {
	if again == "" {
		again = admissionregistrationv1.NeverReinvocationPolicy
	}
	return admissionregistrationv1.MutatingWebhook{
		Name:                    w.Name,
		ClientConfig:            w.ClientConfig,
		Rules:                   w.Rules,
		FailurePolicy:           w.FailurePolicy,
		SideEffects:             w.SideEffects,
		TimeoutSeconds:          w.TimeoutSeconds,
		NamespaceSelector:       w.NamespaceSelector,
		ObjectSelector:          w.ObjectSelector,
		MatchConditions:         w.MatchConditions,
		AdmissionReviewVersions: w.AdmissionReviewVersions,
		ReinvocationPolicy:      &again,
	}
}

func (r Registration) withDefaults() Registration {
	if r.FailurePolicy == "" {
		r.FailurePolicy = admissionregistrationv1.Ignore
	}
	if r.SideEffects == "" {
		r.SideEffects = admissionregistrationv1.SideEffectClassNone
	}
	if r.TimeoutSeconds == 0 {
		r.TimeoutSeconds = 10
	}
	return r
}

// rules are the resources of the kinds, as the API server knows them now.
func (r *registrar) rules(w *Webhook) ([]admissionregistrationv1.RuleWithOperations, error) {
	if len(w.Registration.Rules) > 0 {
		return w.Registration.Rules, nil
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, kind := range w.Kinds {
		mapping, err := r.kinds.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", kind, err)
		}
		rules = append(rules, ruleFor(mapping, w.Operations))
	}
	return rules, nil
}

func ruleFor(mapping *meta.RESTMapping, operations []admissionv1.Operation) admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.ClusterScope
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		scope = admissionregistrationv1.NamespacedScope
	}
	rule := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
		APIGroups:   []string{mapping.Resource.Group},
		APIVersions: []string{mapping.Resource.Version},
		Resources:   []string{mapping.Resource.Resource},
		Scope:       &scope,
	}}
	for _, o := range operations {
		rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(o))
	}
	return rule
}

// namespaceSelector keeps a webhook that fails closed from judging the pods that serve
// it: with all of them gone, none could come back.
func (r *registrar) namespaceSelector(reg Registration) *metav1.LabelSelector {
	if reg.NamespaceSelector != nil || r.options.client.Service == nil || reg.FailurePolicy != admissionregistrationv1.Fail {
		return reg.NamespaceSelector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      corev1.LabelMetadataName,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   []string{r.options.client.Service.Namespace},
	}}}
}
