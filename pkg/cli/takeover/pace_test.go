package takeover

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPaced(t *testing.T) {
	begun := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	first, second := order(types.NamespacedName{Name: "a"}, Held), order(types.NamespacedName{Name: "b"}, Converge)
	other := order(types.NamespacedName{Name: "c"}, GivenBack)
	for name, c := range map[string]struct {
		pace  time.Duration
		after time.Duration // since the last CSV began
		all   []Write
		want  []Write
		wait  string
	}{
		"no pace":                       {after: 0, all: []Write{first, second}, want: []Write{first, second}},
		"one CSV at a time":             {pace: time.Minute, after: time.Minute, all: []Write{first, other, second}, want: []Write{first, other}},
		"too early":                     {pace: time.Minute, after: time.Second, all: []Write{first, second}, wait: "the pace: the next ClusterServiceVersion begins at 09:01:00"},
		"writes before the next begins": {pace: time.Minute, after: time.Second, all: []Write{other, first}, want: []Write{other}},
		"nothing begins":                {pace: time.Minute, after: time.Second, all: []Write{other, other}, want: []Write{other, other}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Paced(writes(c.all...), begun, begun.Add(c.after), c.pace)
			installtest.Same(t, "decision", Decision{Writes: c.want, Wait: c.wait, Patient: c.wait != ""}, d)
		})
	}
}
