package corpus

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podOf is the pod's spec of a Deployment; nil of anything else.
func podOf(o *unstructured.Unstructured) map[string]any {
	pod, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec")
	spec, _ := pod.(map[string]any)
	return spec
}

// volumes are those of a Deployment, themselves and no copies.
func volumes(o *unstructured.Unstructured) []map[string]any { return itemsOf(podOf(o)["volumes"]) }

func setVolumes(o *unstructured.Unstructured, kept []map[string]any) {
	podOf(o)["volumes"] = listOf(kept)
}

func hasVolume(o *unstructured.Unstructured, name any) bool {
	return slices.ContainsFunc(volumes(o), func(v map[string]any) bool { return v["name"] == name })
}

func mounts(o *unstructured.Unstructured, volume any) bool {
	for _, container := range slices.Concat(itemsOf(podOf(o)["containers"]), itemsOf(podOf(o)["initContainers"])) {
		if mountsIn(container, volume) {
			return true
		}
	}
	return false
}

func mountsIn(container map[string]any, volume any) bool {
	return slices.ContainsFunc(itemsOf(container["volumeMounts"]), func(m map[string]any) bool { return m["name"] == volume })
}

func itemsOf(list any) []map[string]any {
	items, _ := list.([]any)
	all := make([]map[string]any, 0, len(items))
	for _, item := range items {
		all = append(all, item.(map[string]any))
	}
	return all
}

func listOf(items []map[string]any) []any {
	all := make([]any, 0, len(items))
	for _, item := range items {
		all = append(all, item)
	}
	return all
}

func text(value any) string { return fmt.Sprint(value) }
