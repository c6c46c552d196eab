package e2e

import (
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// hookBundle writes a bundle with the plain webhook server, after a test has done to it
// what it is about, and returns its folder.
func (e *env) hookBundle(name string, spoil func(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec)) string {
	e.Helper()
	csv := hookCSV(name+".v1", server(name))
	spoil(csv, &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec)
	return bundleOf(e, name, csv)
}

func bundleOf(e *env, name string, csv *operatorsv1alpha1.ClusterServiceVersion) string {
	e.Helper()
	csv = csv.DeepCopy()
	csv.APIVersion, csv.Kind = operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind
	text, err := yaml.Marshal(csv)
	e.must(err)
	folder := e.TempDir()
	for file, content := range map[string]string{
		"manifests/csv.yaml":        string(text),
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: " + name + "}\n",
	} {
		file = filepath.Join(folder, file)
		e.must(os.MkdirAll(filepath.Dir(file), 0o700))
		e.must(os.WriteFile(file, []byte(content), 0o600))
	}
	return folder
}

func unspoilt(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec) {}

// refused runs an upgrade that the cluster's definition blocks, and reports whether it has written anything.
func (t *terminal) refused(crd, bundle, why string) {
	t.Helper()
	state := func() string {
		said, err := kubectl(t.ctx, "get", "crd/"+crd, "-o", "jsonpath={.metadata.resourceVersion}")
		t.must(err)
		csvs, err := kubectl(t.ctx, "get", "csv", "-n", t.namespace, "-o", "name")
		t.must(err)
		return said + "\n" + csvs
	}
	before := state()
	t.fails(1, []string{"nothing was changed", why}, "bundle", "upgrade", bundle, "--yes")
	installtest.Same(t, "the state after an upgrade that is refused", before, state())
}

// withDefinition is a copy of a bundle with another definition, in a folder whose name is the same in every transcript.
func (t *terminal) withDefinition(name, bundle, file string, change func(versions []any) []any) string {
	t.Helper()
	folder := filepath.Join("bin", name)
	in := filepath.Join("..", "..", folder)
	t.must(os.RemoveAll(in))
	t.Cleanup(func() { t.must(os.RemoveAll(in)) })
	t.must(os.CopyFS(in, os.DirFS(filepath.Join("..", "..", bundle))))
	file = filepath.Join(in, "manifests", file)
	text, err := os.ReadFile(file)
	t.must(err)
	crd := &unstructured.Unstructured{}
	t.must(yaml.Unmarshal(text, crd))
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	t.must(err)
	t.must(unstructured.SetNestedSlice(crd.Object, change(versions), "spec", "versions"))
	text, err = yaml.Marshal(crd)
	t.must(err)
	t.must(os.WriteFile(file, text, 0o600))
	return folder
}

func withoutFirst(versions []any) []any {
	versions[1].(map[string]any)["storage"] = true
	return versions[1:]
}

// evictsNever forbids, in the first version, what the sample has in spec.evict.
func evictsNever(versions []any) []any {
	if err := unstructured.SetNestedSlice(versions[0].(map[string]any), []any{"never"}, "schema", "openAPIV3Schema", "properties", "spec", "properties", "evict", "enum"); err != nil {
		panic(err) // the bundle is an example
	}
	return versions
}
