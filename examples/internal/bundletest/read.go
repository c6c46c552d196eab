// Package bundletest holds the examples' bundles against what their programs do.
package bundletest

import (
	"os"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// CSV reads a ClusterServiceVersion.
func CSV(t *testing.T, file string) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	csv := Read[operatorsv1alpha1.ClusterServiceVersion](t, file)
	return &csv
}

// Read reads one object, and refuses fields that its type does not have.
func Read[T any](t *testing.T, file string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict(text(t, file), &value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}

func text(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
