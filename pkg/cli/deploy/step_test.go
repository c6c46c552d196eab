package deploy

import (
	"testing"

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
