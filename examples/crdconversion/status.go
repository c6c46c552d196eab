package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

// statusOf returns the status of a Cache of either version: the memory of all its replicas.
func statusOf(cache *unstructured.Unstructured) (map[string]any, error) {
	spec, err := specInV2(cache)
	if err != nil {
		return nil, err
	}
	replicas, _, err := unstructured.NestedInt64(spec, "replicas")
	if err != nil {
		return nil, err
	}
	text, _, err := unstructured.NestedString(spec, "resources", "memory")
	if err != nil {
		return nil, err
	}
	memory, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, fmt.Errorf("its memory %q: %w", text, err)
	}
	memory.Mul(replicas)
	return map[string]any{
		"memory":             memory.String(),
		"observedGeneration": cache.GetGeneration(),
	}, nil
}

func specInV2(cache *unstructured.Unstructured) (map[string]any, error) {
	if cache.GroupVersionKind().Version == convert.V1.Version {
		v2 := &unstructured.Unstructured{Object: map[string]any{}}
		if err := convert.ToV2(cache, v2); err != nil {
			return nil, err
		}
		cache = v2
	}
	spec, _, err := unstructured.NestedMap(cache.Object, "spec")
	return spec, err
}
