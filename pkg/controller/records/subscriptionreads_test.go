package records

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A read is for the versions that the caches had before it.
func TestSubscriptionReads(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 5, 4, 12, 0, s, 0, time.UTC) }
	r := &SubscriptionReads{}
	r.AddVersion("early", at(1))
	r.AddVersion("late", at(3))
	r.AddVersion("early", at(4)) // Another event of the same version.
	r.AddNone("shop", at(2))
	r.AddNone("shop", at(1)) // It ended later.
	for version, want := range map[string]bool{"early": true, "late": false, "unknown": false} {
		installtest.Same(t, version, want, r.HasNone("shop", types.UID(version)))
	}
	installtest.Same(t, "another namespace", false, r.HasNone("bank", "early"))
	r.AddVersion("next", at(63))
	installtest.Same(t, "the number of versions after a minute", 2, len(r.cached.at))
}
