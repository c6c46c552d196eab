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
	for range 4 { // the first write, and three repairs
		if held, _, _ := f.Held(shop, add, now); len(held) > 0 {
			t.Fatalf("held too early: %v", held)
		}
		f.Wrote(shop, add, now)
	}
	held, until, why := f.Held(shop, map[string]string{"a": "1", "b": "1"}, now)
	if !slices.Equal(held, []string{"a"}) || !until.Equal(now.Add(time.Minute)) || !strings.Contains(why, "Namespace shop") {
		t.Errorf("held %v until %v: %s", held, until, why)
	}
	contest, _ := f.Contest(shop)
	installtest.Same(t, "it is recorded as a contest", true, contest.Repairs.Contested())
	if held, _, _ := f.Held(shop, map[string]string{"a": ""}, now); len(held) > 0 {
		t.Errorf("removed: held %v", held)
	}
	if held, _, _ := f.Held(FieldObject{"Namespace mall", "2"}, add, now); len(held) > 0 {
		t.Errorf("elsewhere: held %v", held)
	}
	if held, _, _ := f.Held(FieldObject{"Namespace shop", "3"}, add, now); len(held) > 0 {
		t.Errorf("recreated: held %v", held)
	}
	if held, _, _ := f.Held(shop, add, now.Add(2*time.Minute)); len(held) > 0 {
		t.Errorf("held for ever: %v", held)
	}
	f.Wrote(FieldObject{"Namespace mall", "2"}, add, now.Add(2*time.Hour))
	installtest.Same(t, "objects that are remembered", 1, len(f.known))
}
