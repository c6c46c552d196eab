package heldversions

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOf(t *testing.T) {
	conversion := func(path *string) *apiextensionsv1.CustomResourceConversion {
		return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: "system", Name: "webhook-service", Port: new(int32(443)), Path: path,
			}},
			ConversionReviewVersions: []string{"v1", "v1beta1"},
		}}
	}
	for name, test := range map[string]struct {
		annotation, value string
		want              Held
	}{
		"another annotation":           {wellknown.AnnotationStoredVersions, "v2", Held{}},
		"a version":                    {wellknown.AnnotationHeldVersions, "v2", Held{Versions: []string{"v2"}}},
		"versions":                     {wellknown.AnnotationHeldVersions, "v2,v3", Held{Versions: []string{"v2", "v3"}}},
		"a version that is served":     {wellknown.AnnotationHeldVersions, "v1", Held{}},
		"a version that was removed":   {wellknown.AnnotationHeldVersions, "v4", Held{}},
		"a storage version":            {wellknown.AnnotationHeldStorageVersion, "v3", Held{Storage: "v3"}},
		"the storage version":          {wellknown.AnnotationHeldStorageVersion, "v1", Held{}},
		"a conversion":                 {wellknown.AnnotationHeldConversion, "system,webhook-service,443,/convert,v1,v1beta1", Held{Conversion: conversion(new("/convert"))}},
		"a conversion without a path":  {wellknown.AnnotationHeldConversion, "system,webhook-service,443,,v1,v1beta1", Held{Conversion: conversion(nil)}},
		"a conversion of another form": {wellknown.AnnotationHeldConversion, "system,webhook-service", Held{}},
		"a conversion without a port":  {wellknown.AnnotationHeldConversion, "system,webhook-service,https,/convert,v1", Held{}},
		"a ClusterServiceVersion":      {wellknown.AnnotationHeldFor, "shop/operator.v2,operator.v3", Held{For: []types.NamespacedName{{Namespace: "shop", Name: "operator.v2"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{test.annotation: test.value}},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
					{Name: "v1", Served: true, Storage: true}, {Name: "v2"}, {Name: "v3"},
				}},
			}
			installtest.Same(t, "held", test.want, Of(crd))
			for annotation, value := range Of(crd).Annotations() {
				installtest.Same(t, "the annotation of it", test.annotation+" "+test.value, annotation+" "+value)
			}
			installtest.Same(t, "annotated", test.annotation != wellknown.AnnotationStoredVersions, Annotated(crd))
		})
	}
}
