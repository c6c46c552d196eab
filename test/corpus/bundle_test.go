package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

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

func readBundle(t *testing.T, manifests string) bundle {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(b.raw.Object, b.csv); err != nil {
		t.Fatal(err)
	}
	return b
}

func readObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
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

// allNamespaces tells whether the operator can watch all namespaces.
func (b bundle) allNamespaces() bool {
	for _, mode := range b.csv.Spec.InstallModes {
		if mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces && mode.Supported {
			return true
		}
	}
	return false
}

// accounts are the ServiceAccounts that the bundle's permissions speak of.
func (b bundle) accounts() map[string]bool {
	accounts := map[string]bool{}
	strategy := b.csv.Spec.InstallStrategy.StrategySpec
	for _, p := range append(strategy.Permissions, strategy.ClusterPermissions...) {
		accounts[p.ServiceAccountName] = true
	}
	return accounts
}
