package issuers

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Differs tells whether an object lacks anything that is desired of it. What it has
// besides is not compared: defaults, status, and what others add.
func Differs(desired, live *unstructured.Unstructured) bool {
	return lacks(desired.Object, live.Object)
}

func lacks(desired, live any) bool {
	want, ok := desired.(map[string]any)
	if !ok {
		return !equality.Semantic.DeepEqual(desired, live)
	}
	have, _ := live.(map[string]any)
	for key, value := range want {
		if there, ok := have[key]; !ok || lacks(value, there) {
			return true
		}
	}
	return false
}
