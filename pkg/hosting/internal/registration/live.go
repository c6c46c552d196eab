package registration

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var resources = map[Form]struct {
	kind     string
	resource schema.GroupVersionResource
}{
	Validating: {"ValidatingWebhookConfiguration", admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")},
	Mutating:   {"MutatingWebhookConfiguration", admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")},
	Conversion: {"CustomResourceDefinition", apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")},
}

// live is the registration of a webhook in the API server.
type live struct {
	name    string // with its kind
	client  dynamic.ResourceInterface
	object  *unstructured.Unstructured
	configs []*clientConfig
}

// clientConfig is a part of a registration: fields belong to its object, and the rest is decoded from them.
type clientConfig struct {
	admissionregistrationv1.WebhookClientConfig
	fields map[string]any
}

// read returns a new object with the error NotFound.
func (s *session) read(ctx context.Context, w Webhook) (*live, error) {
	name := s.Process + "-" + w.Name // a configuration for each webhook: several processes may each register some
	if w.Form == Conversion {
		mapping, err := s.kinds.RESTMapping(w.Kinds[0].GroupKind())
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", w.Kinds[0].GroupKind(), err)
		}
		name = mapping.Resource.GroupResource().String()
	}
	r := resources[w.Form]
	l := &live{name: r.kind + " " + name, client: s.dynamic.Resource(r.resource)}
	object, err := l.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		l.object = &unstructured.Unstructured{}
		l.object.SetGroupVersionKind(r.resource.GroupVersion().WithKind(r.kind))
		l.object.SetName(name)
		return l, err
	}
	l.object = object
	return l, l.decodeConfigs()
}

func (l *live) decodeConfigs() error {
	webhooks, _ := l.object.Object["webhooks"].([]any)
	conversion, _, _ := unstructured.NestedFieldNoCopy(l.object.Object, "spec", "conversion", "webhook")
	for _, webhook := range slices.Concat(webhooks, []any{conversion}) {
		webhook, _ := webhook.(map[string]any)
		fields, ok := webhook["clientConfig"].(map[string]any)
		if !ok {
			continue
		}
		config := &clientConfig{fields: fields}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &config.WebhookClientConfig); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		l.configs = append(l.configs, config)
	}
	return nil
}

// updateBundles writes the CABundle of each of configs, and nothing else.
func (l *live) updateBundles(ctx context.Context) error {
	for _, c := range l.configs {
		c.fields["caBundle"] = base64.StdEncoding.EncodeToString(c.CABundle)
	}
	_, err := l.client.Update(ctx, l.object, metav1.UpdateOptions{})
	return err
}

// ours returns the existing registrations that call this program, with only the configs that do.
func (s *session) ours(ctx context.Context) ([]*live, error) {
	var ours []*live
	for _, w := range s.Webhooks {
		l, err := s.read(ctx, w)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, err
		}
		l.configs = slices.DeleteFunc(l.configs, func(c *clientConfig) bool { return !s.Options.isCalledBy(c) })
		if len(l.configs) > 0 {
			ours = append(ours, l)
		}
	}
	return ours, nil
}

func (o *Options) isCalledBy(c *clientConfig) bool {
	switch {
	case o.client.Service != nil && c.Service != nil:
		return c.Service.Namespace == o.client.Service.Namespace && c.Service.Name == o.client.Service.Name
	case o.client.URL != nil && c.URL != nil:
		return strings.HasPrefix(*c.URL, *o.client.URL+"/")
	default:
		return false
	}
}

// checkService returns an error if a registration calls the Service of another installation. Its calls would
// come here without the consent of its owner. A process that is called by URL replaces every registration.
func (o *Options) checkService(l *live, form Form) error {
	remedy := "delete the configuration; or give this program another name"
	if form == Conversion {
		remedy = "set its spec.conversion.webhook.clientConfig.service to this program's"
	}
	for _, c := range l.configs {
		if o.client.Service != nil && c.Service != nil && !o.isCalledBy(c) {
			return fmt.Errorf("%s calls Service %s/%s and is not replaced: if no installation needs that Service, %s", l.name, c.Service.Namespace, c.Service.Name, remedy)
		}
	}
	return nil
}
