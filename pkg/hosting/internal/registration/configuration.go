package registration

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

// configurationName is unique for each webhook: several processes may each register some of them.
func (r *Registrar) configurationName(w Webhook) string { return r.Process + "-" + w.Name }

// webhookName is what clients see when a request is denied. API servers require at least three labels.
func (r *Registrar) webhookName(w Webhook) string { return w.Name + "." + r.Process + ".hosting" }

type configurations[C any] struct {
	kind   string
	client interface {
		Get(ctx context.Context, name string, opts metav1.GetOptions) (*C, error)
		Create(ctx context.Context, c *C, opts metav1.CreateOptions) (*C, error)
		Update(ctx context.Context, c *C, opts metav1.UpdateOptions) (*C, error)
	}
	clientConfigs func(*C) []*admissionregistrationv1.WebhookClientConfig
	fill          func(c *C, name string, webhook admissionregistrationv1.ValidatingWebhook)
}

func (s *session) validating() configurations[admissionregistrationv1.ValidatingWebhookConfiguration] {
	return configurations[admissionregistrationv1.ValidatingWebhookConfiguration]{
		kind:   "ValidatingWebhookConfiguration",
		client: s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		clientConfigs: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = append(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		},
		fill: func(c *admissionregistrationv1.ValidatingWebhookConfiguration, name string, webhook admissionregistrationv1.ValidatingWebhook) {
			c.Name, c.Webhooks = name, []admissionregistrationv1.ValidatingWebhook{webhook}
		},
	}
}

func (s *session) mutating(w Webhook) configurations[admissionregistrationv1.MutatingWebhookConfiguration] {
	return configurations[admissionregistrationv1.MutatingWebhookConfiguration]{
		kind:   "MutatingWebhookConfiguration",
		client: s.client.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		clientConfigs: func(c *admissionregistrationv1.MutatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = append(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		},
		fill: func(c *admissionregistrationv1.MutatingWebhookConfiguration, name string, webhook admissionregistrationv1.ValidatingWebhook) {
			c.Name, c.Webhooks = name, []admissionregistrationv1.MutatingWebhook{mutatingWebhook(webhook, w.Settings.ReinvocationPolicy)}
		},
	}
}

func writeConfiguration[C any](ctx context.Context, s *session, of configurations[C], w Webhook) error {
	name := s.configurationName(w)
	live, err := of.client.Get(ctx, name, metav1.GetOptions{})
	absent := apierrors.IsNotFound(err)
	switch {
	case absent:
		live = new(C)
	case err != nil:
		return err
	}
	if err := s.checkService(of.kind+" "+name, "delete the configuration; or give this program another name", of.clientConfigs(live)...); err != nil {
		return err
	}
	var others []byte
	for _, config := range of.clientConfigs(live) {
		others = append(append(others, config.CABundle...), '\n')
	}
	webhook, err := s.validatingWebhook(ctx, w, others)
	if err != nil {
		return err
	}
	of.fill(live, name, webhook)
	if absent {
		_, err = of.client.Create(ctx, live, metav1.CreateOptions{})
	} else {
		_, err = of.client.Update(ctx, live, metav1.UpdateOptions{})
	}
	return err
}

func (s *session) validatingWebhook(ctx context.Context, w Webhook, others []byte) (admissionregistrationv1.ValidatingWebhook, error) {
	settings := w.Settings.withDefaults()
	rules, err := s.rules(w)
	if err != nil {
		return admissionregistrationv1.ValidatingWebhook{}, err
	}
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    s.webhookName(w),
		ClientConfig:            s.Options.clientConfig(w.Path, s.bundle(ctx, others)),
		Rules:                   rules,
		FailurePolicy:           &settings.FailurePolicy,
		SideEffects:             &settings.SideEffects,
		TimeoutSeconds:          &settings.TimeoutSeconds,
		NamespaceSelector:       s.namespaceSelector(settings),
		ObjectSelector:          settings.ObjectSelector,
		MatchConditions:         settings.MatchConditions,
		AdmissionReviewVersions: w.ReviewVersions,
	}, nil
}

func mutatingWebhook(w admissionregistrationv1.ValidatingWebhook, policy admissionregistrationv1.ReinvocationPolicyType) admissionregistrationv1.MutatingWebhook {
	if policy == "" {
		policy = admissionregistrationv1.NeverReinvocationPolicy
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
		ReinvocationPolicy:      &policy,
	}
}

func (r Settings) withDefaults() Settings {
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

func (s *session) rules(w Webhook) ([]admissionregistrationv1.RuleWithOperations, error) {
	if len(w.Settings.Rules) > 0 {
		return w.Settings.Rules, nil
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, kind := range w.Kinds {
		mapping, err := s.kinds.RESTMapping(kind.GroupKind(), kind.Version)
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

// namespaceSelector excludes the namespace of the Service from a webhook with the failurePolicy Fail.
// Otherwise no pod that serves the webhook could be created once all are deleted.
func (s *session) namespaceSelector(settings Settings) *metav1.LabelSelector {
	if settings.NamespaceSelector != nil || s.Options.client.Service == nil || settings.FailurePolicy != admissionregistrationv1.Fail {
		return settings.NamespaceSelector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      corev1.LabelMetadataName,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   []string{s.Options.client.Service.Namespace},
	}}}
}
