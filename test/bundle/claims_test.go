package bundle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/names"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const testNamespace = "bundle-claims"

func (e *env) createCSV(t *testing.T, b *bundle.Bundle, dryRun bool) error {
	t.Helper()
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(testNamespace)
	return e.create(t.Context(), csv, dryRun)
}

func (e *env) register(t *testing.T, d operatorsv1alpha1.WebhookDescription, name string, namespaces *metav1.LabelSelector, dryRun bool) error {
	t.Helper()
	return e.create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{d.GetValidatingWebhook(testNamespace, namespaces, nil)},
	}, dryRun)
}

// registered has the webhook registered during the test, without anybody to answer it.
func (e *env) registered(t *testing.T, d operatorsv1alpha1.WebhookDescription, namespaces *metav1.LabelSelector) {
	t.Helper()
	name := names.SimpleNameGenerator.GenerateName("claim-")
	must(t, e.register(t, d, name, namespaces, false))
	t.Cleanup(func() {
		must(t, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
	})
}

// createDeployment writes the bundle's first Deployment, with the certificate that the manager adds.
func (e *env) createDeployment(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	spec := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	spec.Spec.Template.Spec = render.WithCertificate(spec.Spec.Template.Spec, "claim")
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

func taken(kind string) func(*testing.T, *env, *bundle.Bundle) {
	return func(t *testing.T, e *env, b *bundle.Bundle) {
		e.namespace(t, testNamespace)
		i := slices.IndexFunc(b.Objects, func(o *bundle.Object) bool { return o.GetKind() == kind })
		object := b.Objects[i].DeepCopy()
		object.SetNamespace(testNamespace)
		must(t, e.create(t.Context(), object, true))
	}
}

// noSuchVersion: what the API server of today serves in another version, it does not know in the removed one.
func noSuchVersion(t *testing.T, e *env, b *bundle.Bundle) {
	object := b.Find(schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}, "projectpolicy-webhook").DeepCopy()
	if _, err := e.resource(object); !meta.IsNoMatchError(err) {
		t.Errorf("the API server serves %s: %v", object.GetAPIVersion(), err)
	}
	object.SetAPIVersion("policy/v1")
	e.client(t, object)
}

func registrationRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.register(t, first(b), "claim", nil, true))
}

func definitionRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.createDefinition(t, b))
}

func deploymentRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	mustRefuse(t, e.createDeployment(t, b))
}

// serviceRefused creates the Service that OLM v0 creates: a port for each description.
func serviceRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: testNamespace}}
	for i, d := range b.CSV.Spec.WebhookDefinitions {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: d.ContainerPort, TargetPort: render.TargetPort(d)})
	}
	mustRefuse(t, e.create(t.Context(), service, true))
}

// serviceTaken creates the Service that the manager creates, with a port for each targetPort.
func serviceTaken(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	csv := b.CSV.DeepCopy()
	csv.Namespace = testNamespace
	deployment := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name
	service := render.Objects(render.Input{
		CSV: csv, Scope: scope.Scope{Group: &operatorsv1.OperatorGroup{}, Namespaces: []string{metav1.NamespaceAll}}, Services: map[string]string{deployment: "claim"},
	}).Deployments[0].Service
	service.OwnerReferences = nil // no client owns the copy
	must(t, e.create(t.Context(), service, true))
	for _, d := range csv.Spec.WebhookDefinitions {
		if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.TargetPort == render.TargetPort(d) }) {
			t.Errorf("the Service has no port for %s", d.GenerateName)
		}
	}
}

func both(one, other func(*testing.T, *env, *bundle.Bundle)) func(*testing.T, *env, *bundle.Bundle) {
	return func(t *testing.T, e *env, b *bundle.Bundle) {
		one(t, e, b)
		other(t, e, b)
	}
}

// nothingToApply: without apiVersion there is nowhere to send an object to.
func nothingToApply(t *testing.T, e *env, _ *bundle.Bundle) {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "claim"}}}
	mustRefuse(t, e.create(t.Context(), object, true))
}

// tooBigToSend: the API server reads no request of the size from which on a file is not read.
func tooBigToSend(t *testing.T, e *env, _ *bundle.Bundle) {
	e.namespace(t, testNamespace)
	b := edited(t, proof{example: admission})
	must(t, unstructured.SetNestedField(b.CSVObject.Object, strings.Repeat("a", 8<<20), "spec", "maturity"))
	if err := e.createCSV(t, b, true); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("the API server reports %v", err)
	}
}

// tooBigToStore: what is found to be too big is not stored, and what is little smaller is.
// It is written as a copy, which the manager does not modify.
func tooBigToStore(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	installtest.Error(t, "request is too large", e.createCSV(t, b, false))
	fits := edited(t, proof{example: admission, edits: []string{"  maturity: alpha", "  maturity: " + strings.Repeat("a", 3<<19-64<<10)}})
	installtest.Same(t, "what can be stored is found to be too big", false, finds(fits, "too-big-to-store"))
	fits.CSVObject.SetName("claim")
	fits.CSVObject.SetLabels(map[string]string{operatorsv1alpha1.CopiedLabelKey: "claim"})
	must(t, e.createCSV(t, fits, false))
}

func noSuchKind(t *testing.T, e *env, b *bundle.Bundle) {
	_, err := e.resource(b.Find(schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudgett"}, "projectpolicy-webhook").Unstructured)
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
	if _, kept, _ := unstructured.NestedString(csv.Object, "spec", "maturiti"); kept {
		t.Error("the object that is applied has the field, which the typed one has not")
	}
	must(t, unstructured.SetNestedField(csv.Object, "alpha", "spec", "maturiti"))
	resource := e.client(t, csv)
	_, err := resource.Create(t.Context(), csv, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	mustRefuse(t, err)
	stored, err := resource.Create(t.Context(), csv, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
	must(t, err)
	if _, kept, _ := unstructured.NestedString(stored.Object, "spec", "maturiti"); kept {
		t.Error("the API server keeps the field")
	}
}

// neverCalled: no endpoint answers the webhook, its policy is Fail, and nothing fails.
func neverCalled(t *testing.T, e *env, b *bundle.Bundle) {
	e.registered(t, first(b), nil)
	followed(t, e)
	must(t, e.tryNamespace(t, nil))
}

// followed waits until the API server uses all existing registrations: it learns of
// them one after the other, and calls the last, which is the whole example's.
func followed(t *testing.T, e *env) {
	t.Helper()
	control := map[string]string{"claim": "control"}
	d := first(edited(t, proof{example: admission}))
	d.ObjectSelector = &metav1.LabelSelector{MatchLabels: control}
	e.registered(t, d, nil)
	e.eventually(t, "the example's own webhook is called", func() bool { return called(e.tryNamespace(t, control)) })
}

// ofOneNamespace is the namespaceSelector that the manager sets in a webhook that is
// installed for one namespace, whose label nothing here has.
func ofOneNamespace() *metav1.LabelSelector {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{UID: "claim"}, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{testNamespace}}}
	return scope.Scope{Group: group}.WebhookSelector()
}

// calledOutsideItsScope: the webhook is for one namespace, and still called for what is in none.
func calledOutsideItsScope(t *testing.T, e *env, b *bundle.Bundle) {
	e.registered(t, first(b), ofOneNamespace())
	e.eventually(t, "writing a PersistentVolume fails", func() bool {
		return called(e.create(t.Context(), &corev1.PersistentVolume{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: "claim"},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: oneGigabyte},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/claim"}},
			},
		}, true))
	})
	must(t, e.tryNamespace(t, nil))
}

// calledForLabelledNamespaces: of Namespaces that are written, the webhook of one namespace is
// called for those with the label of its OperatorGroup, and for no others.
func calledForLabelledNamespaces(t *testing.T, e *env, b *bundle.Bundle) {
	selector := ofOneNamespace()
	e.namespace(t, testNamespace)
	e.registered(t, first(b), selector)
	e.eventually(t, "creating a Namespace with the label fails", func() bool { return called(e.tryNamespace(t, selector.MatchLabels)) })
	if err := e.relabel(t, selector.MatchLabels); !called(err) {
		t.Errorf("a Namespace that is given the label passes the webhook by: %v", err)
	}
	must(t, e.tryNamespace(t, nil))
	must(t, e.relabel(t, map[string]string{"other": "label"}))
}

// relabel reports what would become of a change to the labels of the Namespace of the claims.
func (e *env) relabel(t *testing.T, labels map[string]string) error {
	t.Helper()
	live := kube.Get(t, e.kube.CoreV1().Namespaces(), testNamespace)
	maps.Copy(live.Labels, labels)
	_, err := e.kube.CoreV1().Namespaces().Update(t.Context(), live, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// deadlock is a proof that a webhook for a resource cannot be brought back while it does not
// answer: what is found to be refused is.
func deadlock(group, resource, what string, needed func(*bundle.Bundle) runtime.Object) proof {
	return proof{"self-deadlock", admission, []string{
		`apiGroups: [""]`, `apiGroups: ["` + group + `"]`, "resources: [namespaces]", "resources: [" + resource + "]", "scope: Cluster", `scope: "*"`,
	}, func(t *testing.T, e *env, b *bundle.Bundle) {
		if !slices.ContainsFunc(lint.Run(b).Findings, func(f lint.Finding) bool { return f.Code == "self-deadlock" && strings.Contains(f.What, what) }) {
			t.Errorf("it is not found to refuse %s", what)
		}
		e.namespace(t, testNamespace)
		e.namespace(t, corev1.NamespaceNodeLease)
		must(t, e.create(t.Context(), needed(b), true))
		e.registered(t, first(b), nil)
		e.eventually(t, "its own "+resource+" are refused", func() bool { return called(e.create(t.Context(), needed(b), true)) })
	}}
}

// inTestNamespace is the metadata of what the pods of a bundle's first Deployment need.
func inTestNamespace(b *bundle.Bundle) metav1.ObjectMeta {
	spec := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	return metav1.ObjectMeta{Name: spec.Name, Namespace: testNamespace, Labels: spec.Spec.Template.Labels}
}

func ownPod(b *bundle.Bundle) runtime.Object {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: inTestNamespace(b),
		Spec: b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec,
	}
}

func ownReplicaSet(b *bundle.Bundle) runtime.Object {
	spec := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	return &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: inTestNamespace(b),
		Spec: appsv1.ReplicaSetSpec{Selector: spec.Selector, Template: spec.Template},
	}
}

func ownDeployment(b *bundle.Bundle) runtime.Object {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: inTestNamespace(b),
		Spec: b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec,
	}
}

func ownEndpoints(b *bundle.Bundle) runtime.Object {
	return &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: inTestNamespace(b), AddressType: discoveryv1.AddressTypeIPv4,
	}
}

func ownAccount(b *bundle.Bundle) runtime.Object {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: inTestNamespace(b)}
}

func leaseOfANode(*bundle.Bundle) runtime.Object {
	return &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: corev1.NamespaceNodeLease},
	}
}

func (e *env) tryNamespace(t *testing.T, labels map[string]string) error {
	t.Helper()
	return e.create(t.Context(), &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "claim", Labels: labels}}, true)
}

func first(b *bundle.Bundle) operatorsv1alpha1.WebhookDescription {
	return b.CSV.Spec.WebhookDefinitions[0]
}

// called reports whether a request failed because a webhook did not answer.
func called(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook")
}
