package hosting

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

// writeConversion has the CustomResourceDefinition converted by the webhook. The
// definition itself is there already: it is not the webhook's to make.
func (r *registrar) writeConversion(ctx context.Context, e *endpoint) error {
	kind := e.webhook.Handler.kinds(e.webhook)[0]
	mapping, err := r.kinds.RESTMapping(kind.GroupKind())
	if err != nil {
		return fmt.Errorf("kind %s: %w", kind.GroupKind(), err)
	}
	crds := r.dynamic.Resource(crdResource)
	live, err := crds.Get(ctx, mapping.Resource.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	wanted, err := r.conversion(e, conversionBundle(live))
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedMap(live.Object, wanted, "spec", "conversion"); err != nil {
		return err
	}
	_, err = crds.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

func (r *registrar) conversion(e *endpoint, others []byte) (map[string]any, error) {
	config := r.options.clientConfig(e.webhook.Path, r.bundle(others))
	client := &apiextensionsv1.WebhookClientConfig{URL: config.URL, CABundle: config.CABundle}
	if s := config.Service; s != nil {
		client.Service = &apiextensionsv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: s.Port}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             client,
			ConversionReviewVersions: []string{"v1"},
		},
	})
}

// conversionBundle is the definition's caBundle, if there is one that reads.
func conversionBundle(crd *unstructured.Unstructured) []byte {
	encoded, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	bundle, err2 := base64.StdEncoding.DecodeString(encoded)
	if errors.Join(err, err2) != nil {
		return nil
	}
	return bundle
}
