package bundle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

const testNamespace = "bundle-claims"

// createCSV writes the ClusterServiceVersion as it stands in the bundle.
func (e *env) createCSV(t *testing.T, b *bundle.Bundle, dryRun bool) error {
	t.Helper()
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(testNamespace)
	return e.create(t.Context(), csv, dryRun)
}

// register writes the first webhook's registration, for namespaces of a label.
func (e *env) register(t *testing.T, b *bundle.Bundle, name string, namespaces *metav1.LabelSelector, dryRun bool) error {
	t.Helper()
	d := b.CSV.Spec.WebhookDefinitions[0]
	return e.create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{d.GetValidatingWebhook(testNamespace, namespaces, nil)},
	}, dryRun)
}

// registered has the webhook registered during the test, without anybody to answer it.
func (e *env) registered(t *testing.T, b *bundle.Bundle, namespaces *metav1.LabelSelector) {
	t.Helper()
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-"))
	name = "claim-" + fmt.Sprintf("%x", len(name)) + "-" + b.CSV.Name
	must(t, e.register(t, b, name, namespaces, false))
	t.Cleanup(func() {
		must(t, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
	})
}

func (e *env) createDeployment(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	spec := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	return e.create(t.Context(), &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: testNamespace}, Spec: spec.Spec,
	}, true)
}

func (e *env) createDefinition(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	for _, o := range b.Objects {
		if o.GetKind() == "CustomResourceDefinition" {
			return e.create(t.Context(), o.Unstructured, true)
		}
	}
	t.Fatal("the example has no definition")
	return nil
}

// mustRefuse wants an answer of the API server that says no to the object itself.
func mustRefuse(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !meta.IsNoMatchError(err) {
		t.Errorf("the API server does not refuse it: %v", err)
	}
}

func csvRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	mustRefuse(t, e.createCSV(t, b, true))
}

func registrationRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.register(t, b, "claim", nil, true))
}

func definitionRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.createDefinition(t, b))
}

func deploymentRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	mustRefuse(t, e.createDeployment(t, b))
}

// serviceRefused makes the Service that OLM v0 makes: a port for each description.
func serviceRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: testNamespace}}
	for i, d := range b.CSV.Spec.WebhookDefinitions {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: d.ContainerPort, TargetPort: install.TargetPort(d)})
	}
	mustRefuse(t, e.create(t.Context(), service, true))
}

// nothingToApply: without apiVersion there is nowhere to send an object to.
func nothingToApply(t *testing.T, e *env, _ *bundle.Bundle) {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "claim"}}}
	mustRefuse(t, e.create(t.Context(), object, true))
}

func noSuchKind(t *testing.T, e *env, b *bundle.Bundle) {
	_, err := e.resource(b.Find("PodDisruptionBudgett", "projectpolicy-webhook").Unstructured)
	if !meta.IsNoMatchError(err) {
		t.Errorf("the API server has such a kind: %v", err)
	}
	if b.Err() == nil {
		t.Error("render does not refuse the bundle")
	}
}

func droppedUnlessStrict(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(testNamespace)
	resource, err := e.resource(csv)
	must(t, err)
	_, err = resource.Create(t.Context(), csv, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	mustRefuse(t, err)
	stored, err := resource.Create(t.Context(), csv, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
	must(t, err)
	if _, kept, _ := unstructured.NestedString(stored.Object, "spec", "maturiti"); kept {
		t.Error("the API server keeps the field")
	}
}

// neverCalled: nobody answers the webhook, its policy is Fail, and nothing fails.
func neverCalled(t *testing.T, e *env, b *bundle.Bundle) {
	e.registered(t, b, nil)
	if err := e.tryNamespace(t); err != nil {
		t.Errorf("the webhook is called: %v", err)
	}
}

// calledOutsideItsScope: the webhook is for namespaces of a label that none has, and still
// called for what is cluster-scoped.
func calledOutsideItsScope(t *testing.T, e *env, b *bundle.Bundle) {
	e.registered(t, b, &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-it"}})
	e.eventually(t, "writing a PersistentVolume fails", func() bool {
		return called(e.create(t.Context(), &corev1.PersistentVolume{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: "claim"},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: oneGigabyte},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/claim"}},
			},
		}, true))
	})
	if err := e.tryNamespace(t); err != nil {
		t.Errorf("the selector does not limit what has no label: %v", err)
	}
}

// refusesItsOwnPods: its pod cannot be created while it does not answer.
func refusesItsOwnPods(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	e.registered(t, b, nil)
	template := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: testNamespace, Labels: template.Labels}, Spec: template.Spec}
	e.eventually(t, "the pod of the webhook is refused", func() bool { return called(e.create(t.Context(), pod, true)) })
}

func (e *env) tryNamespace(t *testing.T) error {
	t.Helper()
	return e.create(t.Context(), &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "claim"}}, true)
}

// called tells whether a request failed because a webhook did not answer.
func called(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook")
}

// neverConverts: a definition of one version, whose webhook nobody answers, works.
func neverConverts(t *testing.T, e *env, b *bundle.Bundle) {
	crd := e.define(t, b, "ones", func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = crd.Spec.Versions[1:]
	})
	object := e.custom(t, crd, crd.Spec.Versions[0].Name)
	e.eventually(t, "an object is written and read", func() bool {
		resource, err := e.resource(object)
		if err != nil {
			return false
		}
		_, err = resource.Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return false
		}
		_, err = resource.Get(t.Context(), object.GetName(), metav1.GetOptions{})
		return err == nil
	})
}

// cannotBeRead: an object is stored in one version, and nobody converts it to the other.
func cannotBeRead(t *testing.T, e *env, b *bundle.Bundle) {
	crd := e.define(t, b, "twos", func(*apiextensionsv1.CustomResourceDefinition) {})
	var stored, other string
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			stored = v.Name
		} else {
			other = v.Name
		}
	}
	object := e.custom(t, crd, stored)
	e.eventually(t, "an object is written, and not read in the other version", func() bool {
		resource, err := e.resource(object)
		if err != nil {
			return false
		}
		if _, err = resource.Create(t.Context(), object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return false
		}
		converted := e.custom(t, crd, other)
		if resource, err = e.resource(converted); err != nil {
			return false
		}
		_, err = resource.Get(t.Context(), object.GetName(), metav1.GetOptions{})
		return err != nil && strings.Contains(err.Error(), "conversion webhook")
	})
}

// define creates the bundle's definition under a name of its own, without the limits of
// its schemas, and takes it away after the test.
func (e *env) define(t *testing.T, b *bundle.Bundle, plural string, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := b.CRDs()[0].DeepCopy()
	crd.Name = plural + "." + crd.Spec.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: strings.ToUpper(plural[:1]) + plural[1:]}
	for i := range crd.Spec.Versions {
		preserve := true
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
		crd.Spec.Versions[i].AdditionalPrinterColumns, crd.Spec.Versions[i].Subresources = nil, nil
	}
	change(crd)
	crd.Spec.Versions[len(crd.Spec.Versions)-1].Storage = true
	must(t, e.create(t.Context(), crd, false))
	t.Cleanup(func() {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(crd.GroupVersionKind())
		resource, err := e.resource(object)
		must(t, err)
		must(t, resource.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}))
	})
	return crd
}

func (e *env) custom(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) *unstructured.Unstructured {
	t.Helper()
	e.namespace(t, testNamespace)
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(crd.Spec.Group + "/" + version)
	object.SetKind(crd.Spec.Names.Kind)
	object.SetName("claim")
	object.SetNamespace(testNamespace)
	return object
}
