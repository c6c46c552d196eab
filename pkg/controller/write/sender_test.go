package write

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hangs answers as an API server whose webhook does not answer within 30 s.
func hangs(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(30 * time.Second):
		const status = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError", "code": 500, "message": "failed calling webhook \"w\": context deadline exceeded"}`
		return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(status)), Request: r}, nil
	}
}

// Writes that are not answered leave time for the end of the reconciliation.
func TestSenderEndsBeforeTheReconciliation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://localhost", Transport: roundTripper(hangs), QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, began := &Sender{Writer: &Writer{Set: clients.Set{Kube: kube}, Now: time.Now}}, time.Now()
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
		if got := waitFor(test.left, test.unanswered); got != test.want {
			t.Errorf("with %s left, unanswered %t: %s, want %s", test.left, test.unanswered, got, test.want)
		}
	}
}
