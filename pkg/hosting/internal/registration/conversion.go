package registration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

var crdResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// writeConversion does not create the CustomResourceDefinition.
func (s *session) writeConversion(ctx context.Context, w Webhook) error {
	kind := w.Kinds[0]
	mapping, err := s.kinds.RESTMapping(kind.GroupKind())
	if err != nil {
		return fmt.Errorf("kind %s: %w", kind.GroupKind(), err)
	}
	crds := s.dynamic.Resource(crdResource)
	live, err := crds.Get(ctx, mapping.Resource.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := s.checkService("CustomResourceDefinition "+live.GetName(), "set its spec.conversion.webhook.clientConfig.service to this program's", conversionConfig(live)); err != nil {
		return err
	}
	desired, err := s.conversion(ctx, w, conversionBundle(live))
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedMap(live.Object, desired, "spec", "conversion"); err != nil {
		return err
	}
	_, err = crds.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

func (s *session) conversion(ctx context.Context, w Webhook, others []byte) (map[string]any, error) {
	config := s.Options.clientConfig(w.Path, s.bundle(ctx, others))
	client := &apiextensionsv1.WebhookClientConfig{URL: config.URL, CABundle: config.CABundle}
	if service := config.Service; service != nil {
		client.Service = &apiextensionsv1.ServiceReference{Namespace: service.Namespace, Name: service.Name, Path: service.Path, Port: service.Port}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             client,
			ConversionReviewVersions: []string{"v1"},
		},
	})
}

func conversionBundle(crd *unstructured.Unstructured) []byte {
	encoded, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	bundle, err2 := base64.StdEncoding.DecodeString(encoded)
	if errors.Join(err, err2) != nil {
		return nil
	}
	return bundle
}
