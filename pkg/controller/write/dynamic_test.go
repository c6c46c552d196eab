package write

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// An object of a kind that no issuer or operator reads is not written.
func TestUnknownKindIsNotWritten(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	_, err := (&Writer{}).sendDynamic(t.Context(), rollout.Step{Verb: rollout.Apply, Object: o}, o)
	if err == nil || !strings.Contains(err.Error(), "no way to write a Secret") {
		t.Errorf("the error is %v", err)
	}
}
