package corpus

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// bundle is what a registry+v1 bundle brings that matters here.
type bundle struct {
	csv  *operatorsv1alpha1.ClusterServiceVersion
	raw  *unstructured.Unstructured // the CSV as it is written
	crds []*unstructured.Unstructured
}

// servesFrom reports whether the author of a Deployment mounts a volume of his own where
// certificates are: the mounts there are the manager's, of volumes that are its own.
func (b bundle) servesFrom(deployment string, volume any) bool {
	place := func(m corev1.VolumeMount) bool {
		return m.Name == volume && slices.ContainsFunc(certificateMounts, func(c map[string]any) bool { return c["mountPath"] == path.Clean(m.MountPath) })
	}
	if slices.ContainsFunc(certificateMounts, func(c map[string]any) bool { return c["name"] == volume }) {
		return false
	}
	for _, d := range b.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, c := range d.Spec.Template.Spec.Containers {
			if d.Name == deployment && slices.ContainsFunc(c.VolumeMounts, place) {
				return true
			}
		}
	}
	return false
}

func readBundle(t *testing.T, manifests string) bundle {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(manifests, "*.y*ml"))
	must(t, err)
	var b bundle
	for _, file := range files {
		for _, object := range readObjects(t, file) {
			switch object.GetKind() {
			case operatorsv1alpha1.ClusterServiceVersionKind:
				b.raw = object
			case "CustomResourceDefinition":
				b.crds = append(b.crds, object)
			}
		}
	}
	b.csv = &operatorsv1alpha1.ClusterServiceVersion{}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(b.raw.Object, b.csv))
	return b
}

func readObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			return objects // the end, or a file that is no YAML: its objects are then missed below
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func (b bundle) allNamespaces() bool {
	return slices.ContainsFunc(b.csv.Spec.InstallModes, func(mode operatorsv1alpha1.InstallMode) bool {
		return mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces && mode.Supported
	})
}

// requiredCRDs are definitions that other operators bring. What they define does not matter here.
func (b bundle) requiredCRDs() []*unstructured.Unstructured {
	versions := map[string][]any{}
	kinds := map[string]string{}
	for _, d := range b.csv.Spec.CustomResourceDefinitions.Required {
		if slices.ContainsFunc(b.crds, func(own *unstructured.Unstructured) bool { return own.GetName() == d.Name }) {
			continue
		}
		kinds[d.Name] = d.Kind
		versions[d.Name] = append(versions[d.Name], map[string]any{
			"name": d.Version, "served": true, "storage": versions[d.Name] == nil,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
	}
	var all []*unstructured.Unstructured
	for name, kind := range kinds {
		plural, group, _ := strings.Cut(name, ".")
		all = append(all, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind}, "versions": versions[name]},
		}})
	}
	return all
}
