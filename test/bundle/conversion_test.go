package bundle

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// neverConverts: a definition whose webhook no endpoint answers works with one version, and no more with another one.
func neverConverts(t *testing.T, e *env, b *bundle.Bundle) {
	crd := e.define(t, b, "ones")
	e.write(t, crd)
	must(t, e.read(t, crd, "v2"))
	e.addVersion(t, crd, "v1")
	e.eventually(t, "what the second version would need is asked for in vain", func() bool { return unconverted(e.read(t, crd, "v1")) })
}

// cannotBeRead: an object is stored in one version, and no webhook converts it to the other.
func cannotBeRead(t *testing.T, e *env, b *bundle.Bundle) {
	crd := e.define(t, b, "twos")
	e.write(t, crd)
	e.eventually(t, "the object is not read in the other version", func() bool { return unconverted(e.read(t, crd, "v1")) })
}

func unconverted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "conversion webhook")
}

// createConverted writes the bundle's definition with the conversion that the manager adds.
func (e *env) createConverted(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	crd, d := b.CRDs()[0].DeepCopy(), first(b)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: testNamespace, Name: "claim", Path: d.WebhookPath}},
		ConversionReviewVersions: d.AdmissionReviewVersions,
	}}
	return e.create(t.Context(), definition(t, crd), true)
}

func conversionRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.createConverted(t, b))
}

// define creates the bundle's definition under another name, without its schemas' limits, and removes it at the end.
func (e *env) define(t *testing.T, b *bundle.Bundle, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := b.CRDs()[0].DeepCopy()
	crd.Name = plural + "." + crd.Spec.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: strings.ToUpper(plural[:1]) + plural[1:]}
	for i := range crd.Spec.Versions {
		preserve := true
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
		crd.Spec.Versions[i].AdditionalPrinterColumns, crd.Spec.Versions[i].Subresources = nil, nil
	}
	must(t, e.create(t.Context(), crd, false))
	t.Cleanup(func() {
		resource := e.client(t, definition(t, crd))
		must(t, resource.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}))
	})
	return crd
}

func (e *env) addVersion(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name string) {
	t.Helper()
	more := crd.Spec.Versions[0].DeepCopy()
	more.Name, more.Storage = name, false
	changed := crd.DeepCopy()
	changed.Spec.Versions = append(changed.Spec.Versions, *more)
	resource := e.client(t, definition(t, crd))
	text := installtest.OrPanic(definition(t, changed).MarshalJSON())
	kube.Patch(t, resource, crd.Name, types.MergePatchType, text)
}

func definition(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *unstructured.Unstructured {
	t.Helper()
	content := installtest.OrPanic(runtime.DefaultUnstructuredConverter.ToUnstructured(crd))
	delete(content, "status")
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return object
}

func (e *env) write(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	e.namespace(t, testNamespace)
	stored := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	object := custom(crd, crd.Spec.Versions[stored].Name)
	e.eventually(t, "an object is written", func() bool {
		err := e.create(t.Context(), object, false)
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

func (e *env) read(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	t.Helper()
	object := custom(crd, version)
	resource, err := e.resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Get(t.Context(), object.GetName(), metav1.GetOptions{})
	return err
}

func custom(crd *apiextensionsv1.CustomResourceDefinition, version string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(crd.Spec.Group + "/" + version)
	object.SetKind(crd.Spec.Names.Kind)
	object.SetName("claim")
	object.SetNamespace(testNamespace)
	return object
}
