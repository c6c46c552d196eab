package records

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Creation times are returned for recorded registrations and deleted with them.
func TestCreationTimes(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	created := func(uid types.UID) *corev1.Service { return &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: uid}} }
	var times CreationTimes
	times.Add(created("a"), noon)
	times.Add(created("b"), noon.Add(2*recentTimeKept/3))
	installtest.Same(t, "creation times", map[types.UID]time.Time{"a": noon}, times.Of([]types.UID{"a", "c"}))
	times.Add(created("c"), noon.Add(4*recentTimeKept/3))
	want := map[types.UID]time.Time{"b": noon.Add(2 * recentTimeKept / 3), "c": noon.Add(4 * recentTimeKept / 3)}
	installtest.Same(t, "a while later", want, times.Of([]types.UID{"a", "b", "c"}))
}
