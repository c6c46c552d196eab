package records

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Another client that restores what a deletion removes extends the wait for a limited time.
func TestUnregistered(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var u Unregistered
	installtest.Same(t, "before", true, u.At("a").IsZero())
	for second := range 60 {
		u.Add("a", start.Add(time.Duration(second)*time.Second))
	}
	installtest.Same(t, "the last that counts", unregisteredLimit, u.At("a").Sub(start))
	u.Add("b", start.Add(2*unregisteredKept))
	installtest.Same(t, "an old one", true, u.At("a").IsZero())
}
