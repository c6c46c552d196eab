package deploy

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func TestWhyItIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		hold Hold
		want []string
	}{
		"a stranger's finalizer":       {Hold{Finalizers: []string{"shop.io/a"}}, []string{"its finalizer shop.io/a stays"}},
		"two of them":                  {Hold{Finalizers: []string{"shop.io/a", "shop.io/b"}}, []string{"shop.io/a", "; its finalizer shop.io/b"}},
		"none":                         {Hold{}, []string{"no finalizer is left"}},
		"no manager":                   {Hold{Namespace: "shop", Finalizers: []string{wellknown.FinalizerCSV}}, []string{wellknown.FinalizerCSV, "no manager has taken it away", "include shop"}},
		"a manager that went":          {Hold{Finalizers: []string{wellknown.FinalizerCSV}, Lease: "nobody has held Lease a/b"}, []string{"no manager has taken it away", "; nobody has held Lease a/b"}},
		"a manager that waits":         {Hold{Finalizers: []string{wellknown.FinalizerCSV}, Said: "v2 is stored"}, []string{"v2 is stored"}},
		"objects that are held":        {Hold{Finalizers: []string{cleanup}, Objects: 2, Held: []string{"b (y)", "a (x)"}, Terminating: "Check"}, []string{"it has 2 objects, among them a (x), b (y): let", "; the API server says Check"}},
		"objects that nobody can read": {Hold{Finalizers: []string{cleanup}, Objects: Uncounted}, []string{"cannot be read now"}},
	} {
		t.Run(name, func(t *testing.T) {
			why := test.hold.Why()
			for _, part := range test.want {
				if !strings.Contains(why, part) {
					t.Errorf("it does not say %q: %s", part, why)
				}
			}
			if told := strings.Contains(why, "no manager"); told != strings.Contains(strings.Join(test.want, ""), "no manager") {
				t.Errorf("it speaks of a manager: %t: %s", told, why)
			}
		})
	}
}

// An API server that tries again has not got any further.
func TestWhatIsLeftOfAnObject(t *testing.T) {
	before := Hold{Finalizers: []string{cleanup}, Objects: 2, Terminating: "InProgress"}
	for name, test := range map[string]struct {
		change func(*Hold)
		want   bool
	}{
		"another attempt":     {func(h *Hold) { h.Terminating = "Check" }, false},
		"an object less":      {func(h *Hold) { h.Objects-- }, true},
		"a finalizer less":    {func(h *Hold) { h.Finalizers = nil }, true},
		"the manager's words": {func(h *Hold) { h.Said = "v2 is stored" }, true},
	} {
		after := before
		test.change(&after)
		if got := after.Left() != before.Left(); got != test.want {
			t.Errorf("%s: a step is %t, want %t", name, got, test.want)
		}
	}
}
