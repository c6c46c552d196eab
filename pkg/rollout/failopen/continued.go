package failopen

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Merged returns the record that a version continues: its own one, with all openings that other versions of the operator have
// recorded. A version can skip others, so no single record has all openings. Without an own record, the one that was changed last
// decides about the outage. Each record can be nil, and remains unchanged.
func Merged(own *managerv1alpha1.FailOpen, others ...*managerv1alpha1.FailOpen) *managerv1alpha1.FailOpen {
	others = slices.DeleteFunc(slices.Clone(others), func(other *managerv1alpha1.FailOpen) bool { return other == nil })
	slices.SortStableFunc(others, func(a, b *managerv1alpha1.FailOpen) int { return lastChange(a).Compare(lastChange(b)) })
	var all *managerv1alpha1.FailOpen
	for _, other := range others {
		all = Continued(all, other)
	}
	return Continued(all, own)
}

// lastChange returns the last time in a record, except the planned end of an opening.
func lastChange(record *managerv1alpha1.FailOpen) time.Time {
	times := []*metav1.Time{record.UnreachableSince, record.LastServedTime}
	for _, o := range record.Openings {
		times = append(times, &o.From, o.AllFrom)
		if o.ClosedBy != "" {
			times = append(times, o.Until)
		}
	}
	var last time.Time
	for _, at := range times {
		if at != nil {
			last = later(last, at.Time)
		}
	}
	return last
}

// Continued returns the record of a webhook that two versions have recorded. It has the openings of both. The later one decides
// about the outage. Each of them can be nil, and remains unchanged.
func Continued(earlier, later *managerv1alpha1.FailOpen) *managerv1alpha1.FailOpen {
	switch {
	case later == nil:
		return earlier.DeepCopy()
	case earlier == nil:
		return later.DeepCopy()
	}
	all := union(earlier.Openings, later.Openings)
	record := later.DeepCopy()
	record.Openings = all[max(0, len(all)-mostOpenings):]
	record.OpenSeconds = max(record.OpenSeconds, earlier.OpenSeconds, secondsOfAll(all))
	if before := earlier.LastServedTime; record.LastServedTime == nil || before != nil && record.LastServedTime.Before(before) {
		record.LastServedTime = before.DeepCopy()
	}
	return record
}

// union returns the openings of two records, the oldest first, each once.
func union(earlier, later []managerv1alpha1.Opening) []managerv1alpha1.Opening {
	byFrom := map[int64]managerv1alpha1.Opening{}
	for _, o := range slices.Concat(earlier, later) {
		if before, known := byFrom[o.From.Unix()]; known {
			o = combined(before, o)
		}
		byFrom[o.From.Unix()] = *o.DeepCopy()
	}
	all := slices.Collect(maps.Values(byFrom))
	oldestFirst(all)
	return all
}

// combined returns an opening that two versions have recorded. An opening that has ended does not last again. Of two ends, the
// longer time counts, and a proof is needed if one of them needs it: the limits and the audit must have each object.
func combined(earlier, later managerv1alpha1.Opening) managerv1alpha1.Opening {
	switch {
	case !hasEnded(earlier):
		return later
	case !hasEnded(later):
		return earlier
	}
	if later.Until.Before(earlier.Until) {
		later.Until = earlier.Until
	}
	if earlier.ClosedBy == managerv1alpha1.ClosedTimeOver {
		later.ClosedBy = earlier.ClosedBy
	}
	if later.AllFrom == nil {
		later.AllFrom, later.AllRequests = earlier.AllFrom, earlier.AllRequests
	}
	return later
}

// hasEnded is false for an opening that ends before it begins, which only another client writes.
func hasEnded(o managerv1alpha1.Opening) bool {
	return o.ClosedBy != "" && o.Until != nil && !o.Until.Before(&o.From)
}

func secondsOfAll(openings []managerv1alpha1.Opening) (sum int64) {
	for _, o := range openings {
		if hasEnded(o) {
			sum += secondsOf(o)
		}
	}
	return sum
}

// Lacks reports whether a record lacks an opening of another one, and would have it after a decision. Each record can be nil.
func Lacks(record, other *managerv1alpha1.FailOpen, now time.Time) bool {
	merged, known := Continued(other, record), map[int64]bool{}
	if record != nil {
		for _, o := range record.Openings {
			known[o.From.Unix()] = true
		}
	}
	return merged != nil && slices.ContainsFunc(merged.Openings, func(o managerv1alpha1.Opening) bool {
		return isPossible(o, now) && !known[o.From.Unix()]
	})
}
