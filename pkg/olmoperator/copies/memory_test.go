package copies

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

var (
	noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	name = cache.NewObjectName("shop", "op.v1")
)

// While the caches do not show a created copy, no second one is created. This ends after a time.
func TestUnseenCreation(t *testing.T) {
	w := newWritten()
	installtest.Same(t, "nothing is written", plan.Written{}, w.of(name, noon))
	w.created(name, "10", "state", noon)
	w.wrote(name, "11", "state")
	installtest.Same(t, "written", plan.Written{ResourceVersion: "11", State: "state", Unseen: true}, w.of(name, noon))
	installtest.Same(t, "after a time", false, w.of(name, noon.Add(unseenFor)).Unseen)
	installtest.Same(t, "the first write is the latest", false, w.seen(name, "10"))
	installtest.Same(t, "the caches show only the first write", true, w.of(name, noon).Unseen)
	installtest.Same(t, "the second write is the latest", true, w.seen(name, "11"))
	installtest.Same(t, "the caches show both writes", false, w.of(name, noon).Unseen)
	installtest.Same(t, "a write of another client is the latest", false, w.seen(name, "12"))
}

func TestDeletionsAreRemembered(t *testing.T) {
	w := newWritten()
	w.wrote(name, "10", "state")
	w.recordDeletion(name)
	installtest.Same(t, "deleted", true, w.isDeleted(name))
	installtest.Same(t, "written", plan.Written{}, w.of(name, noon))
	w.wrote(name, "11", "state")
	installtest.Same(t, "deleted, after the manager wrote it again", false, w.isDeleted(name))
}

func TestPending(t *testing.T) {
	var p pending
	other := cache.NewObjectName("shop", "other.v1")
	installtest.Same(t, "the first one is a change", true, p.set(name, true))
	installtest.Same(t, "a second one is a change", false, p.set(other, true))
	installtest.Same(t, "one of two less is a change", false, p.set(name, false))
	installtest.Same(t, "none", false, p.none())
	installtest.Same(t, "the last one is a change", true, p.set(other, false))
	installtest.Same(t, "none", true, p.none())
}

// The state of a cached object is computed once.
func TestStatesFollowTheCache(t *testing.T) {
	var s states
	cached := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "op.v1"}}
	first := s.of(cached)
	cached.Generation = 2 // caches replace objects instead
	installtest.Same(t, "state of the same object", first, s.of(cached))
	if next := s.of(cached.DeepCopy()); next == first {
		t.Error("the state of a newer object is that of the previous one")
	}
}

func TestContentsAreLimited(t *testing.T) {
	var c contents
	of := func(name string, size int) *content {
		return &content{of: cache.NewObjectName("operators", name), spec: make([]byte, size)}
	}
	for _, kept := range []*content{of("a", maxContents/2), of("b", maxContents/2), of("c", maxContents/2)} {
		c.keep(kept)
	}
	installtest.Same(t, "number of contents", 2, len(c.kept))
	installtest.Same(t, "the first of them", "b", c.kept[0].of.Name)
	c.keep(of("large", 2*maxContents))
	installtest.Same(t, "number of contents after a large one", 1, len(c.kept))
}
