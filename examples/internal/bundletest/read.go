// Package bundletest compares the examples' bundles with their programs.
package bundletest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// CSV reads a ClusterServiceVersion.
func CSV(t *testing.T, file string) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	csv := Read[operatorsv1alpha1.ClusterServiceVersion](t, file)
	return &csv
}

// Read reads an object, and refuses unknown fields.
func Read[T any](t *testing.T, file string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict(text(t, file), &value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}

// Sample reads the sample of a custom resource, which must be the only one of the CSV's alm-examples.
func Sample[T any](t *testing.T, file, csvFile string) T {
	t.Helper()
	sample := Read[T](t, file)
	var examples []T
	if err := json.Unmarshal([]byte(CSV(t, csvFile).Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]T{sample}, examples); diff != "" {
		t.Errorf("alm-examples (-sample +bundle):\n%s", diff)
	}
	return sample
}

func text(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // G304: a test names the file
	if err != nil {
		t.Fatal(err)
	}
	return data
}
