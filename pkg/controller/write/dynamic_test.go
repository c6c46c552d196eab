package write

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// What is of no kind that issuers or operators are told by is not written as one that is.
func TestTellKnowsTheKind(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	_, err := (&Writer{}).sendDynamic(t.Context(), rollout.Step{Verb: rollout.Apply, Object: o}, o)
	if err == nil || !strings.Contains(err.Error(), "no way to write a Secret") {
		t.Errorf("the error is %v", err)
	}
}
