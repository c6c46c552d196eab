package write

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The same refusal has the same text in each attempt.
func TestText(t *testing.T) {
	for name, texts := range map[string][2]string{
		"a local port": {
			"read tcp 10.244.0.7:54321->10.96.0.1:443: i/o timeout",
			"read tcp 10.244.0.7:40001->10.96.0.1:443: i/o timeout",
		},
		"a local port of IPv6": {
			"write tcp [fd00::7]:54321->[fd00::1]:443: broken pipe",
			"write tcp [fd00::7]:9->[fd00::1]:443: broken pipe",
		},
		"a request": {
			"admission webhook \"a\" denied the request: see 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
			"admission webhook \"a\" denied the request: see 11111111-2222-3333-4444-555555555555",
		},
	} {
		installtest.Same(t, name, Text(errors.New(texts[0])), Text(errors.New(texts[1])))
	}
	const plain = `dial tcp 10.96.0.1:443: connect: connection refused`
	installtest.Same(t, "a text that does not change", plain, Text(errors.New(plain)))

	denied := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: `denied the request`}}
	if err := fmt.Errorf("write: %w", stable{denied}); !IsRefused(err) || !IsDenied(err) {
		t.Errorf("%v is not recognized", err)
	}
}
