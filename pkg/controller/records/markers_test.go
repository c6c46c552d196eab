package records

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestMarkers(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var m Markers
	has := func(want ...bool) {
		t.Helper()
		installtest.Same(t, "recorded", want, []bool{m.Has("asked"), m.Has("removed"), m.Has("left")})
	}
	has(false, false, false)
	m.Add([]string{"asked", "removed", "left"}, noon)
	has(true, true, true)
	m.End([]string{"removed"}, noon)
	m.Forget([]string{"left"})
	has(true, true, false)
	m.Add(nil, noon.Add(time.Minute))
	has(true, true, false)
	m.Add(nil, noon.Add(time.Minute+1))
	has(true, false, false)
}
