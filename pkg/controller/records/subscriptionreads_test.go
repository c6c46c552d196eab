package records

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A list is for the versions that the caches had before it was read.
func TestSubscriptionReads(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 5, 4, 12, 0, s, 0, time.UTC) }
	r := &SubscriptionReads{}
	r.AddVersion("early", at(1))
	r.AddVersion("late", at(3))
	r.AddVersion("early", at(4)) // Another event of the same version.
	r.Add("shop", at(2), []*operatorsv1alpha1.Subscription{{}})
	for version, want := range map[string]bool{"early": true, "late": false, "unknown": false} {
		found, known := r.Of("shop", types.UID(version))
		installtest.Same(t, version, want, known)
		installtest.Same(t, "Subscriptions for "+version, !known || len(found) == 1, true)
	}
	_, known := r.Of("bank", "early")
	installtest.Same(t, "another namespace", false, known)
	r.Add("bank", at(63), nil)
	installtest.Same(t, "lists after a minute", 1, len(r.reads))
	r.AddVersion("next", at(63))
	installtest.Same(t, "versions after a minute", 2, len(r.cached))
}
