package integration

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A tenant creates an EndpointSlice of the Service without the label that the caches select. While its endpoint is ready, no time
// counts: the webhook opens only after the whole time without it.
func TestFailOpenWithUnlabelledEndpoints(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "90s"})
	client := b.kube.DiscoveryV1().EndpointSlices(b.namespace)
	slice := kube.Get(b.env, client, "server-service-server-0")
	slice.ObjectMeta = metav1.ObjectMeta{Name: "tenant", Labels: map[string]string{discoveryv1.LabelServiceName: "server-service"}}
	kube.Create(b.env, client, slice)
	b.goes()
	b.webhookIs("Unreachable", "NoReadyEndpoints")
	b.looksFor(6*time.Second, func() {
		if r := b.record(); r != nil && len(r.Openings) > 0 {
			t.Errorf("it was open: %+v", r.Openings)
		}
	})
	deleted := time.Now()
	b.must(client.Delete(b.ctx, "tenant", metav1.DeleteOptions{}))
	b.is(partly)
	if waited := b.opening(0).From.Sub(deleted); waited < 2*time.Second {
		t.Errorf("it opened %s after the endpoint was lost, and 3s are allowed", waited)
	}
}
