package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/asserttest"
)

const few = 20

// TestUpgradeAndDowngrade upgrades from bundle v1 to v2, downgrades as the README says, and
// upgrades again. No field is lost.
func TestUpgradeAndDowngrade(t *testing.T) {
	e := newEnvWithEtcd(t)
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
	stop := e.startWebhook()
	e.served(convert.V1, convert.V2)
	asserttest.Same(t, "the old Cache after the upgrade", caches.Content(old), caches.Content(e.Get(t, convert.V1, "old")))
	fresh, err := e.In(convert.V2).Create(t.Context(), caches.New(convert.V2, "fresh", map[string]any{
		"replicas": int64(2), "resources": map[string]any{"memory": "1Gi"}, "zones": []any{"north-1"},
	}), metav1.CreateOptions{})
	e.must(err)
	oldInV2 := e.Get(t, convert.V2, "old")

	e.Fill(t, few)
	if output := e.migrate(true); !strings.Contains(output, fmt.Sprintf("rewritten %[1]d of %[1]d objects", few+2)) {
		t.Errorf("the output is:\n%s", output)
	}
	if stored, versions := e.stored(), e.storedVersions(); stored["v1"] != few+2 || len(stored) != 1 || !slices.Equal(versions, []string{"v1"}) {
		t.Errorf("stored are %v and status.storedVersions is %v after the migration", stored, versions)
	}

	e.installCRD("bundle-v1")
	stop()
	e.served(convert.V1)
	asserttest.Same(t, "the old Cache after the downgrade", caches.Content(old), caches.Content(e.Get(t, convert.V1, "old")))
	asserttest.Same(t, "the fresh Cache after the downgrade", map[string]any{"size": "2x1Gi"}, e.Get(t, convert.V1, "fresh").Object["spec"])

	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	asserttest.Same(t, "the fresh Cache after the second upgrade", caches.Content(fresh), caches.Content(e.Get(t, convert.V2, "fresh")))
	asserttest.Same(t, "the old Cache after the second upgrade", caches.Content(oldInV2), caches.Content(e.Get(t, convert.V2, "old")))
}

func TestRoundTrips(t *testing.T) {
	e := newEnv(t)
	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	e.RoundTrips(t, 100)
}
