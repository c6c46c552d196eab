package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		installtest.Same(t, "--adopt "+adopted+" is refused", refused, err != nil)
	}
}
