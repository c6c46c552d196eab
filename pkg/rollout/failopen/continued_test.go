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
		"the earlier one has ended it": {recordWith(60, nil, openedAt(1, over)), recordWith(0, nil, openedAt(1, "")), recordWith(60, nil, openedAt(1, over))},
		"both have ended it": {
			recordWith(60, nil, widened(lasting(openedAt(1, over), 2*time.Minute))), recordWith(60, nil, openedAt(1, served)),
			recordWith(120, nil, widened(lasting(openedAt(1, over), 2*time.Minute))),
		},
		"an end before the beginning does not count": {
			recordWith(0, nil, lasting(openedAt(1, over), -time.Minute)), recordWith(0, nil, openedAt(1, "")), recordWith(0, nil, openedAt(1, "")),
		},
		"an end without a time does not count": {
			recordWith(0, nil, managerv1alpha1.Opening{From: openedAt(1, "").From, ClosedBy: over}), recordWith(0, nil, openedAt(1, "")), recordWith(0, nil, openedAt(1, "")),
		},
		"each has seconds that the other lacks": {
			recordWith(120, nil, openedAt(1, served), openedAt(3, served)), recordWith(120, nil, openedAt(1, served), openedAt(5, served)),
			recordWith(180, nil, openedAt(1, served), openedAt(3, served), openedAt(5, served)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "the record", test.want, Continued(test.earlier, test.later))
			installtest.Same(t, "the record, continued again", test.want, Continued(test.earlier, test.want))
		})
	}
}

func lasting(o managerv1alpha1.Opening, d time.Duration) managerv1alpha1.Opening {
	o.Until = new(metav1.NewTime(o.From.Add(d)))
	return o
}

func widened(o managerv1alpha1.Opening) managerv1alpha1.Opening {
	o.AllFrom, o.AllRequests = new(o.From), "all"
	return o
}

// The order of the other versions does not count: an author can write each order of spec.replaces and spec.skips. Without an own
// record, the outage is that of the version that changed its record last.
func TestMerged(t *testing.T) {
	const served, over = managerv1alpha1.ClosedServed, managerv1alpha1.ClosedTimeOver
	since := func(minute int, record *managerv1alpha1.FailOpen) *managerv1alpha1.FailOpen {
		record.UnreachableSince = new(openedAt(minute, "").From)
		return record
	}
	kept := since(0, recordWith(0, nil, openedAt(1, ""))) // by the first version, while its opening lasts
	skipped := since(4, recordWith(120, nil, openedAt(1, served), openedAt(3, over)))
	returned := recordWith(60, new(openedAt(2, "").From), openedAt(1, served)) // to an older version
	for name, test := range map[string]struct {
		own  *managerv1alpha1.FailOpen
		want *managerv1alpha1.FailOpen
	}{
		"no own record":     {nil, since(4, recordWith(120, returned.LastServedTime, openedAt(1, served), openedAt(3, over)))},
		"an own record":     {recordWith(0, nil), recordWith(120, returned.LastServedTime, openedAt(1, served), openedAt(3, over))},
		"an own opening":    {recordWith(180, nil, openedAt(8, "")), recordWith(180, returned.LastServedTime, openedAt(1, served), openedAt(3, over), openedAt(8, ""))},
		"it has everything": {skipped, since(4, recordWith(120, returned.LastServedTime, openedAt(1, served), openedAt(3, over)))},
	} {
		t.Run(name, func(t *testing.T) {
			for _, others := range [][]*managerv1alpha1.FailOpen{{kept, skipped, returned}, {nil, returned, skipped, kept}, {skipped, kept, returned, nil}} {
				installtest.Same(t, "the record", test.want, Merged(test.own, others...))
			}
		})
	}
	installtest.Same(t, "nothing is recorded", true, Merged(nil, nil) == nil)
	installtest.Same(t, "only an own record", recordWith(1, nil), Merged(recordWith(1, nil)))
}

// A version that waits until another one has its openings must not wait for what that one never records.
func TestLacks(t *testing.T) {
	const served = managerv1alpha1.ClosedServed
	full := recordWith(0, nil)
	for minute := range mostOpenings {
		full.Openings = append(full.Openings, openedAt(2*minute+10, served))
	}
	for name, test := range map[string]struct {
		record, other *managerv1alpha1.FailOpen
		want          bool
	}{
		"no openings":                         {nil, recordWith(0, nil), false},
		"no record":                           {recordWith(0, nil), nil, false},
		"no records":                          {nil, nil, false},
		"not recorded at all":                 {nil, recordWith(0, nil, openedAt(1, served)), true},
		"one is missing":                      {recordWith(0, nil, openedAt(1, served)), recordWith(0, nil, openedAt(1, served), openedAt(3, "")), true},
		"all are recorded":                    {recordWith(0, nil, openedAt(1, served), openedAt(3, served)), recordWith(0, nil, openedAt(1, "")), false},
		"older than a record without space":   {full, recordWith(0, nil, openedAt(1, served)), false},
		"later than the oldest of the record": {full, recordWith(0, nil, openedAt(11, served)), true},
		"ends before it begins":               {nil, recordWith(0, nil, lasting(openedAt(1, served), -time.Minute)), false},
		"begins in two days":                  {nil, recordWith(0, nil, openedAt(2*24*60, served)), false},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "Lacks", test.want, Lacks(test.record, test.other, noon.Add(time.Hour)))
		})
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
