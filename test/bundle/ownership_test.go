package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func written(t *testing.T, packageName, csv string, manifests ...string) *bundle.Bundle {
	t.Helper()
	files := map[string]string{
		"manifests/csv.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: " + csv + `}
spec:
  displayName: Shop
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
`,
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: " + packageName + "}\n",
	}
	for n, text := range manifests {
		files["manifests/object-"+string(rune('a'+n))+".yaml"] = text
	}
	return opened(t, files)
}

// createAsAnother creates an object as another client, and returns it as it is stored.
func (e *env) createAsAnother(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := parsed(t, text)
	resource := e.client(t, object)
	live, err := resource.Create(t.Context(), object, metav1.CreateOptions{FieldManager: "terraform"})
	must(t, err)
	t.Cleanup(func() { removeIfThere(t, resource, object.GetName()) })
	return live
}

func (e *env) now(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	resource := e.client(t, o)
	live, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	must(t, err)
	return live
}

const (
	priority    = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NAME}\ndescription: TEXT\nvalue: 1000\n"
	definition1 = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {kind: Good, plural: goods}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: TEXT}}}]
`
)

func text(form, name, description string) string {
	return strings.NewReplacer("NAME", name, "TEXT", description).Replace(form)
}

// An object that another client created is neither overwritten nor removed, unless it is adopted by its
// name; one that is as the bundle has it is not modified.
func TestInstallationsChangeOnlyTheirOwn(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const namespace = "owners"
	e.createAsAnother(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: owners}\n")
	class := e.createAsAnother(t, text(priority, "owners-class", "platform"))
	same := e.createAsAnother(t, text(priority, "owners-same", "platform"))
	crd := e.createAsAnother(t, text(definition1, "owners", "platform"))
	b := written(t, "owners", "owners.v1", text(priority, "owners-class", "bundle"), text(priority, "owners-same", "platform"), text(definition1, "owners", "bundle"),
		text(priority, "owners-new", "bundle"))
	i := prepared(t, c, b, bundle.Options{Namespace: namespace})
	p := planOf(t, c, i)
	must(t, p.Err())
	want := map[string]deploy.Action{
		"Namespace owners": deploy.Keep, "PriorityClass owners-class": deploy.Overwrite, "PriorityClass owners-same": deploy.Keep,
		"CustomResourceDefinition goods.owners.example.com": deploy.Overwrite, "PriorityClass owners-new": deploy.Create,
		"OperatorGroup owners/owners": deploy.Create, "Subscription owners/owners": deploy.Create, "ClusterServiceVersion owners/owners.v1": deploy.Create,
	}
	got := map[string]deploy.Action{}
	for _, s := range p.Steps() {
		got[deploy.Title(s.Object)] = s.Action
	}
	installtest.Same(t, "the plan", want, got)
	installSays(t, c, p, "exists and was not created by this installation", "terraform")
	for _, before := range []*unstructured.Unstructured{class, same} {
		installtest.Same(t, "the resourceVersion of "+before.GetName(), before.GetResourceVersion(), e.now(t, before).GetResourceVersion())
	}

	must(t, applyAll(t, c, b, bundle.Options{Namespace: namespace})) // adopts all
	installtest.Same(t, class.GetName(), "bundle", e.now(t, class).Object["description"])
	installtest.Same(t, "the resourceVersion of what is as the bundle has it", same.GetResourceVersion(), e.now(t, same).GetResourceVersion())
	i = prepared(t, c, b, bundle.Options{Namespace: namespace})
	removeInstallation(t, c, i, true)
	for object, stays := range map[*unstructured.Unstructured]bool{class: true, same: true, crd: true, {Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "owners-new"},
	}}: false} {
		installtest.Same(t, deploy.Title(object)+" exists", stays, e.isThere(t, object))
	}
	_, err := e.kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), deploy.RecordName("owners"), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the record is left: %v", err)
	}
}

// A bundle removes only the version that is installed, and no object that was recreated since.
func TestRemovalsGoByTheRecord(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "recorded"}
	e.namespace(t, o.Namespace)
	b := written(t, "recorded", "recorded.v1", text(priority, "recorded-class", "bundle"), text(priority, "recorded-again", "bundle"))
	must(t, applyAll(t, c, b, o))
	later := prepared(t, c, written(t, "recorded", "recorded.v3", text(priority, "recorded-class", "bundle")), o)
	_, err := c.Removal(t.Context(), later, false)
	says(t, err, "recorded.v1 is installed in namespace recorded, and not recorded.v3")

	again := parsed(t, text(priority, "recorded-again", "bundle"))
	resource := e.client(t, again)
	e.remove(t, resource, again.GetName())
	again = e.createAsAnother(t, text(priority, "recorded-again", "bundle"))
	i := prepared(t, c, b, o)
	removal := removalOf(t, c, i, false)
	if !slices.ContainsFunc(removal.Messages, func(line string) bool {
		return strings.Contains(line, "PriorityClass recorded-again stays: this installation did not create it")
	}) {
		t.Errorf("messages %q", removal.Messages)
	}
	// One that is replaced between the question and the answer stays, too.
	i.Adopted = []string{deploy.Reference(again)}
	removal = removalOf(t, c, i, false)
	e.remove(t, resource, again.GetName())
	again = e.createAsAnother(t, text(priority, "recorded-again", "bundle"))
	if _, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal)); err == nil || !e.isThere(t, again) {
		t.Errorf("what was replaced is removed: %v", err)
	}
	removal = removalOf(t, c, prepared(t, c, b, o), false)
	_, err = c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
	must(t, err)
	installtest.Same(t, "what another client created exists", true, e.isThere(t, again))
}

func TestNothingIsWrittenBeforeTheCheck(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	for name, test := range map[string]struct {
		csv       string
		edit      string // of the ClusterServiceVersion's spec
		manifests []string
		says      string
	}{
		"name":       {csv: "Unchecked_v1", says: "RFC 1123"},
		"schema":     {csv: "unchecked.v1", edit: "installModes", says: "spec.installModes"},
		"kind":       {csv: "unchecked.v1", manifests: []string{"apiVersion: other.example.com/v1\nkind: Thing\nmetadata: {name: a}\n"}, says: "the bundle does not bring it"},
		"own-kind":   {csv: "unchecked.v1", manifests: []string{text(definition1, "unchecked", "a"), "apiVersion: unchecked.example.com/v1\nkind: Good\nmetadata: {name: Upper}\n"}, says: "RFC 1123"},
		"native":     {csv: "unchecked.v1", manifests: []string{service(80), service(99999)}, says: "Service unchecked-native/port-99999: Service \"port-99999\" is invalid: [spec.ports[0].port"},
		"policy":     {csv: "unchecked.v1", manifests: []string{"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: nowhere}}]}]}\n"}, says: "spec.ingress[0].from[0].ipBlock.cidr"},
		"budget":     {csv: "unchecked.v1", manifests: []string{"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1, maxUnavailable: 1}\n"}, says: "cannot be both set"},
		"definition": {csv: "unchecked.v1", manifests: []string{strings.Replace(text(definition1, "unchecked", "a"), "plural: goods", "plural: others", 1)}, says: "must be spec.names.plural+"},
	} {
		t.Run(name, func(t *testing.T) {
			b := written(t, "unchecked", test.csv, test.manifests...)
			if test.edit != "" {
				must(t, unstructured.SetNestedField(b.CSVObject.Object, "a text", "spec", test.edit))
			}
			i := prepared(t, c, b, bundle.Options{Namespace: "unchecked-" + name, AllowKinds: b.KindsToAllow()})
			p := planOf(t, c, i)
			installSays(t, c, p, test.says)
			if _, err := e.kube.CoreV1().Namespaces().Get(t.Context(), "unchecked-"+name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the namespace was created: %v", err)
			}
		})
	}
}

func service(port int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: port-%d}\nspec: {ports: [{port: %d}]}\n", port, port)
}

// An object of a new namespace is checked in another one, whose quota and objects do not matter.
func TestAnotherNamespaceRefusesNothing(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	budget := func(namespace string) string {
		return "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: elsewhere" + namespace + "}\nspec: {minAvailable: 1, selector: {matchLabels: {a: b}}}\n"
	}
	e.createAsAnother(t, budget(", namespace: default"))
	e.createAsAnother(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: elsewhere, namespace: default}\nspec: {hard: {count/poddisruptionbudgets.policy: 0}}\n")
	p := planOf(t, c, prepared(t, c, written(t, "elsewhere", "elsewhere.v1", budget("")), bundle.Options{Namespace: "elsewhere-new"}))
	must(t, p.Err())
}

// Labels of a bundle's template are put on no namespace that exists before the administrator agrees.
func TestLabelsOfAnExistingNamespace(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	before := e.createAsAnother(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: labelled-ns, labels: {team: a}}\n")
	b := written(t, "labelled", "labelled.v1")
	b.CSV.Annotations = map[string]string{bundle.NamespaceTemplateAnnotation: `{"metadata":{"name":"labelled","labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`}
	p := planOf(t, c, prepared(t, c, b, bundle.Options{Namespace: "labelled-ns"}))
	unadopted := deploy.Unadopted(p.Steps(), nil)
	if len(unadopted) != 1 || !strings.Contains(unadopted[0].Describe(), `label pod-security.kubernetes.io/enforce="privileged"`) {
		t.Errorf("asked about %+v", unadopted)
	}
	if _, err := install(t.Context(), c, p); err == nil || e.now(t, before).GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the namespace was changed: %v", err)
	}
}

// Fields of a live definition that the bundle does not have stay: it is patched under its version.
func TestDefinitionsArePatched(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "patched"}
	e.namespace(t, o.Namespace)
	must(t, applyAll(t, c, written(t, "patched", "patched.v1", text(definition1, "patched", "first")), o))
	crd := parsed(t, text(definition1, "patched", "first"))
	resource := e.client(t, crd)
	t.Cleanup(func() { e.remove(t, resource, crd.GetName()) })
	kube.Patch(t, resource, crd.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"a"},"finalizers":["example.com/a"]}}`))
	must(t, applyAll(t, c, written(t, "patched", "patched.v1", text(definition1, "patched", "second")), o))
	live := e.now(t, crd)
	versions, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
	if schema, _, _ := unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "description"); schema != "second" || live.GetLabels()["team"] != "a" {
		t.Errorf("the definition is %q, with labels %v", schema, live.GetLabels())
	}
	kube.Patch(t, resource, crd.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
}
