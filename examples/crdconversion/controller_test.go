package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		installtest.Must(t, err)
		installtest.Same(t, "status in "+version, map[string]any{"memory": "1536Mi", "observedGeneration": int64(7)}, status)
	}
}
