package bundle

import (
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// short is for what does not continue, long for what does.
const (
	short = time.Millisecond
	long  = time.Minute
)

func (e *env) uninstall(t *testing.T, o *unstructured.Unstructured, patience time.Duration) error {
	t.Helper()
	c := newInstaller(t)
	resource := e.client(t, o)
	live, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	must(t, err)
	o = o.DeepCopy()
	o.SetUID(live.GetUID())
	removed, err := c.Uninstall(t.Context(), installer.Installation{Bundle: edited(t, proof{example: admission}), Manifests: []*unstructured.Unstructured{inNamespace(testNamespace)}, Timeout: patience, Print: t.Logf}, agreedRemoval(t, deploy.Removal{Delete: []*unstructured.Unstructured{o}}))
	if err == nil && len(removed) != 1 {
		t.Errorf("%d objects were removed, want 1", len(removed))
	}
	return err
}

// inNamespace is what an installation in a namespace ends with.
func inNamespace(name string) *unstructured.Unstructured {
	return objectOf(operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.ClusterServiceVersionKind), name, "absent")
}

func objectOf(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// says fails the test for each part that an error lacks.
func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
	}
	installtest.Contains(t, fmt.Sprint(err), parts...)
}

func installSays(t *testing.T, c *installer.Installer, p installer.Plan, parts ...string) {
	t.Helper()
	_, err := install(t.Context(), c, p)
	says(t, err, parts...)
}

func isGone(t *testing.T, resource dynamic.ResourceInterface, name string) bool {
	t.Helper()
	_, err := resource.Get(t.Context(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// The command does not wait forever for a ClusterServiceVersion whose finalizer no manager removes; once one
// is at work, the removal continues.
func TestUninstallationsEndWithoutAManager(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, testNamespace)
	csv := edited(t, proof{example: admission}).CSVObject.DeepCopy()
	csv.SetNamespace(testNamespace)
	csv.SetName("left.v1")
	csv.SetFinalizers([]string{wellknown.FinalizerCSV})
	must(t, e.create(t.Context(), csv, false))
	err := e.uninstall(t, csv, short)
	says(t, err, "ClusterServiceVersion "+testNamespace+"/left.v1", wellknown.FinalizerCSV, "no manager has removed it", "include "+testNamespace, "run the same command again")
	resource := e.client(t, csv)
	installtest.Same(t, "it exists without a manager", false, isGone(t, resource, "left.v1"))
	e.manage(t)
	if err := e.uninstall(t, csv, long); err != nil || !isGone(t, resource, "left.v1") {
		t.Errorf("with a manager it does not continue: %v", err)
	}
}

// A definition with an object whose finalizer no client removes is not waited for for ever, and the object is named.
func TestUninstallationsEndWithObjectsThatAreHeld(t *testing.T) {
	e := newEnv(t)
	const group, held, finalizer = "held.example.com", "held-object", "held.example.com/cleanup"
	crd := definition(t, &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "leaves." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "leaves", Kind: "Leaf"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schemaOf(t, schemas["anything"])}},
		},
	})
	must(t, e.create(t.Context(), crd, false))
	var objects dynamic.ResourceInterface
	for name, finalizers := range map[string][]string{held: {finalizer}, "free-object": nil} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Leaf"}}
		object.SetName(name)
		object.SetFinalizers(finalizers)
		e.eventually(t, "an object is written", func() bool {
			err := e.create(t.Context(), object, false)
			return err == nil || apierrors.IsAlreadyExists(err)
		})
		objects = e.client(t, object)
	}

	says(t, e.uninstall(t, crd, short), "CustomResourceDefinition leaves."+group, fmt.Sprintf("Leaf %s (%s)", held, finalizer), "run the same command again")
	e.eventually(t, "the other object is deleted", func() bool { return isGone(t, objects, "free-object") })
	// Run again, it resumes: the API server has reported by now what it waits for.
	says(t, e.uninstall(t, crd, short), "it has 1 object, among them Leaf "+held, "the API server reports InstanceDeletion")
	kube.Patch(t, objects, held, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	resource := e.client(t, crd)
	if err := e.uninstall(t, crd, long); err != nil || !isGone(t, resource, crd.GetName()) {
		t.Errorf("with nothing in the way it does not continue: %v", err)
	}
}
