package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestChangedFields(t *testing.T) {
	live := object("Class", "", "1", "terraform")
	live.SetLabels(map[string]string{"a": "b"})
	answered := object("Class", "", "1", "terraform", FieldManager)
	answered.SetLabels(map[string]string{"a": "c"})
	answered.SetFinalizers([]string{"x.example.com/y"})
	metadata := answered.Object["metadata"].(map[string]any)
	metadata["ownerReferences"], metadata["resourceVersion"], metadata["generation"] = []any{map[string]any{"uid": "x"}}, "7", int64(2)
	answered.Object["value"] = "new"
	answered.Object["spec"] = map[string]any{"size": int64(1)}
	want := []string{"metadata.finalizers", "metadata.labels.a", "metadata.ownerReferences", "spec.size", "value"}
	installtest.Same(t, "step", want, StepOf(answered, live, answered, Record{}).Changed)
}

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
