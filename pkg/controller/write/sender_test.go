package write

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/apiservertest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Writes that are not answered leave time for the end of the reconciliation.
func TestSenderEndsBeforeTheReconciliation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, began := &Sender{Writer: &Writer{Set: clients.Set{Kube: apiservertest.Hanging(t)}, Now: time.Now}}, time.Now()
		for i := range 20 {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cert"}}
			if _, _, err := s.Send(ctx, "shop", rollout.Step{Verb: rollout.Create, Object: secret}); !IsUnanswered(err) {
				t.Fatalf("write %d: %v", i, err)
			}
		}
		if took := time.Since(began); took < 40*time.Second || took > time.Minute-reservedTime {
			t.Errorf("20 writes took %s", took)
		}
	})
}

func TestWaitFor(t *testing.T) {
	for _, test := range []struct {
		left       time.Duration
		unanswered bool
		want       time.Duration
	}{
		{left: time.Minute, want: longestWait},
		{left: 30 * time.Second, want: 20 * time.Second},
		{left: 5 * time.Second, want: shortestWait},
		{left: 40 * time.Second, unanswered: true, want: 10 * time.Second},
		{left: 12 * time.Second, unanswered: true, want: shortestWait},
		{left: 10 * time.Second, unanswered: true},
	} {
		installtest.Same(t, fmt.Sprintf("with %s left, unanswered %t", test.left, test.unanswered), test.want, waitFor(test.left, test.unanswered))
	}
}
