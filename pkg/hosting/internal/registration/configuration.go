package registration

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// webhookName is what clients see when a request is denied. API servers require at least three labels.
func (r *Registrar) webhookName(w Webhook) string { return w.Name + "." + r.Process + ".hosting" }

// write creates or updates the registration of a webhook. It does not create a CustomResourceDefinition.
func (s *session) write(ctx context.Context, w Webhook) error {
	l, err := s.read(ctx, w)
	absent := apierrors.IsNotFound(err) && w.Form != Conversion
	if err != nil && !absent {
		return err
	}
	if err := s.Options.checkService(l, w.Form); err != nil {
		return err
	}
	var others []byte
	for _, config := range l.configs {
		others = append(append(others, config.CABundle...), '\n')
	}
	config := s.Options.clientConfig(w.Path, s.bundle(ctx, others))
	if w.Form == Conversion {
		err = setConversion(l.object.Object, config)
	} else {
		err = s.setWebhook(l.object.Object, w, config)
	}
	if err != nil {
		return err
	}
	if absent {
		_, err = l.client.Create(ctx, l.object, metav1.CreateOptions{})
	} else {
		_, err = l.client.Update(ctx, l.object, metav1.UpdateOptions{})
	}
	return err
}

func setConversion(crd map[string]any, config admissionregistrationv1.WebhookClientConfig) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&config) // has the fields of a conversion's
	if err != nil {
		return err
	}
	return unstructured.SetNestedMap(crd, map[string]any{
		"strategy": string(apiextensionsv1.WebhookConverter),
		"webhook":  map[string]any{"clientConfig": fields, "conversionReviewVersions": []any{"v1"}},
	}, "spec", "conversion")
}

// setWebhook also serves validating configurations: their webhooks have the same fields except for reinvocationPolicy.
func (s *session) setWebhook(configuration map[string]any, w Webhook, config admissionregistrationv1.WebhookClientConfig) error {
	rules, err := s.rules(w)
	if err != nil {
		return err
	}
	webhook := w.Settings
	webhook.Name, webhook.ClientConfig, webhook.Rules = s.webhookName(w), config, rules
	webhook.NamespaceSelector = s.namespaceSelector(w.Settings)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&webhook)
	configuration["webhooks"] = []any{fields}
	return err
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
func (s *session) namespaceSelector(settings admissionregistrationv1.MutatingWebhook) *metav1.LabelSelector {
	if settings.NamespaceSelector != nil || s.Options.client.Service == nil || *settings.FailurePolicy != admissionregistrationv1.Fail {
		return settings.NamespaceSelector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      corev1.LabelMetadataName,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   []string{s.Options.client.Service.Namespace},
	}}}
}
