package informers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The watch of a namespace begins with the first question, and ends when no version is held there. It can begin again.
func TestAdoptedPodsAreWatchedWhileNeeded(t *testing.T) {
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}})
	p := NewAdoptedPods(client, func(drift.Object, drift.Object) {})
	p.Start(t.Context().Done())
	for range 2 {
		becomes(t, "the pods are read", func() bool {
			pods, read := p.In("shop")
			return len(pods) == 1 && read
		})
		informer := p.watched["shop"].store.Informers[0]
		p.EndUnless("shop", func() bool { return true })
		installtest.Same(t, "the number of watches while they are needed", 1, len(p.watched))
		p.EndUnless("other", func() bool { return false })
		p.EndUnless("shop", func() bool { return false })
		installtest.Same(t, "the number of watches that are kept", 0, len(p.watched))
		becomes(t, "the informer has stopped", informer.IsStopped)
	}
}

func becomes(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("not yet: %s", what)
	}
}
