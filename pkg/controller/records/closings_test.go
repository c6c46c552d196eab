package records

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestClosings(t *testing.T) {
	var c Closings
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		csv   string
		after time.Duration
		want  bool
	}{
		{"first", 0, true}, {"first", closingLimit - 1, true}, {"first", closingLimit, false},
		{"second", closingLimit, true}, {"second", closingLimit + time.Second, true}, {"first", 59 * time.Minute, false},
	} {
		installtest.Same(t, test.csv+" after "+test.after.String(), test.want, c.Lasts(types.UID(test.csv), noon.Add(test.after)))
	}
}
