package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const few = 20

// TestUpgrade upgrades from bundle v1 to v2. No field is lost. TestDowngrade shows the way back.
func TestUpgrade(t *testing.T) {
	e := newEnv(t)
	e.installCRD("bundle-v1")
	e.served(convert.V1)
	old, err := e.In(convert.V1).Create(t.Context(),
		caches.New(convert.V1, "old", map[string]any{"size": "3x512Mi", "evict": "lru", "debug": true}), metav1.CreateOptions{})
	e.must(err)

	e.installCRD("bundle-v2")
	e.eventually(func() (bool, any) {
		// Without the webhook, no object is converted.
		got, err := e.In(convert.V2).Get(t.Context(), "old", metav1.GetOptions{})
		return err != nil && got == nil, got
	})
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	installtest.Same(t, "the old Cache after the upgrade", caches.Content(old), caches.Content(e.Get(t, convert.V1, "old")))
}
