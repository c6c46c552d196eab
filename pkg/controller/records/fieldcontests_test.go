package records

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A repeated change is a contest. Another change, or the same change of another object, is not held.
func TestFieldContests(t *testing.T) {
	var f FieldContests
	now, shop := time.Unix(1_000_000, 0), FieldObject{"Namespace shop", "1"}
	add := map[string]string{"a": "1"}
	heldOf := func(o FieldObject, fields map[string]string, at time.Time) []string {
		held, _, _ := f.Held(o, fields, at)
		return held
	}
	for range 4 { // the first write, and three repairs
		installtest.None(t, "held too early", heldOf(shop, add, now))
		f.Wrote(shop, add, now)
	}
	held, until, why := f.Held(shop, map[string]string{"a": "1", "b": "1"}, now)
	if !slices.Equal(held, []string{"a"}) || !until.Equal(now.Add(time.Minute)) || !strings.Contains(why, "Namespace shop") {
		t.Errorf("held %v until %v: %s", held, until, why)
	}
	contest, _ := f.Contest(shop)
	installtest.Same(t, "it is recorded as a contest", true, contest.Repairs.Contested())
	installtest.None(t, "held when removed", heldOf(shop, map[string]string{"a": ""}, now))
	installtest.None(t, "held elsewhere", heldOf(FieldObject{"Namespace mall", "2"}, add, now))
	installtest.None(t, "held when recreated", heldOf(FieldObject{"Namespace shop", "3"}, add, now))
	installtest.None(t, "held for ever", heldOf(shop, add, now.Add(2*time.Minute)))
	f.Wrote(FieldObject{"Namespace mall", "2"}, add, now.Add(2*time.Hour))
	installtest.Same(t, "objects that are remembered", 1, len(f.known))
}
