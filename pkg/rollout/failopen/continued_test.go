package failopen

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// openedAt is an opening that began some minutes after noon, and ended a minute later if by is not empty.
func openedAt(minute int, by managerv1alpha1.ClosedBy) managerv1alpha1.Opening {
	from := noon.Add(time.Duration(minute) * time.Minute)
	return managerv1alpha1.Opening{From: metav1.NewTime(from), Until: new(metav1.NewTime(from.Add(time.Minute))), ClosedBy: by}
}

func recordWith(seconds int64, served *metav1.Time, openings ...managerv1alpha1.Opening) *managerv1alpha1.FailOpen {
	return &managerv1alpha1.FailOpen{State: closed, OpenSeconds: seconds, LastServedTime: served, Openings: openings}
}

func TestContinued(t *testing.T) {
	const served, over = managerv1alpha1.ClosedServed, managerv1alpha1.ClosedTimeOver
	early, late := new(metav1.NewTime(noon)), new(metav1.NewTime(noon.Add(time.Hour)))
	for name, test := range map[string]struct{ earlier, later, want *managerv1alpha1.FailOpen }{
		"none":                       {nil, nil, nil},
		"only an earlier one":        {recordWith(60, early, openedAt(1, served)), nil, recordWith(60, early, openedAt(1, served))},
		"only a later one":           {nil, recordWith(60, nil, openedAt(1, served)), recordWith(60, nil, openedAt(1, served))},
		"the later one has no more":  {recordWith(60, early, openedAt(1, served)), recordWith(0, nil), recordWith(60, early, openedAt(1, served))},
		"the later one has ended it": {recordWith(0, late, openedAt(1, "")), recordWith(60, early, openedAt(1, over)), recordWith(60, late, openedAt(1, over))},
		"both have others": {
			recordWith(60, early, openedAt(1, served), openedAt(3, served)), recordWith(180, late, openedAt(2, over), openedAt(4, "")),
			recordWith(180, late, openedAt(1, served), openedAt(2, over), openedAt(3, served), openedAt(4, "")),
		},
	} {
		t.Run(name, func(t *testing.T) { installtest.Same(t, "the record", test.want, Continued(test.earlier, test.later)) })
	}
}

// The record has the last openings, no more than the API allows.
func TestContinuedKeepsTheLast(t *testing.T) {
	earlier, later := recordWith(0, nil), recordWith(0, nil)
	for minute := range mostOpenings {
		earlier.Openings = append(earlier.Openings, openedAt(2*minute, managerv1alpha1.ClosedServed))
		later.Openings = append(later.Openings, openedAt(2*minute+21, managerv1alpha1.ClosedServed))
	}
	all := Continued(earlier, later).Openings
	installtest.Same(t, "the number of openings", mostOpenings, len(all))
	installtest.Same(t, "the last one", fmt.Sprint(later.Openings[mostOpenings-1]), fmt.Sprint(all[mostOpenings-1]))
	installtest.Same(t, "the earlier record is unchanged", mostOpenings, len(earlier.Openings))
}
