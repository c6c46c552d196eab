package cluster

import (
	"context"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An API server that accepts connections and never answers does not hold a dial longer than its context.
func TestDialEndsWithItsContext(t *testing.T) {
	listener := installtest.OrPanic(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	config := &rest.Config{Host: "http://" + listener.Addr().String()}
	kube := installtest.OrPanic(kubernetes.NewForConfig(config))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := (&Cluster{Config: config, Kube: kube}).dialPod(ctx, "shop", "shop", "443")
		done <- err
	}()
	select {
	case err := <-done:
		installtest.ErrorIs(t, context.DeadlineExceeded, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the dial does not end with its context")
	}
}
