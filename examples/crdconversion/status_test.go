package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestStatusOf(t *testing.T) {
	for version, spec := range map[string]map[string]any{
		"crdconversion.example.com/v1": {"size": "3x512Mi"},
		"crdconversion.example.com/v2": {"replicas": int64(3), "resources": map[string]any{"memory": "512Mi"}},
	} {
		status, err := statusOf(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": version,
			"kind":       "Cache",
			"metadata":   map[string]any{"name": "c", "generation": int64(7)},
			"spec":       spec,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"memory": "1536Mi", "observedGeneration": int64(7)}, status); diff != "" {
			t.Errorf("status in %s (-want +got):\n%s", version, diff)
		}
	}
}
