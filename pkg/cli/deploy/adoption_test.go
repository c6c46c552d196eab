package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRefuseAdoptions(t *testing.T) {
	bundled, left := object("Class", "", "a"), object("Role", "mall", "b")
	for adopted, refused := range map[string]bool{
		Reference(bundled):           false,
		Reference(left):              false,
		"Class/shop":                 true, // without its group
		"Role.example.com/shop":      true, // without its namespace
		"Role.example.com/mall/shap": true,
		"":                           true,
	} {
		err := CheckAdoptions([]string{adopted}, []*unstructured.Unstructured{bundled}, []*unstructured.Unstructured{left})
		if (err != nil) != refused {
			t.Errorf("--adopt %s: %v, want it refused: %t", adopted, err, refused)
		}
	}
}
