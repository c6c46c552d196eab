package failopen

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

const (
	day = 24 * time.Hour
	// mostOpenings is how many openings a record has. A webhook has no more in 24 hours: the time of an opening that the record
	// drops would not count after a restart, and the audit would not have it.
	mostOpenings = 20
)

// merge combines the openings of the record with the ones that this process remembers. What it remembers cannot be edited.
func (d *decision) merge() {
	byFrom := map[int64]managerv1alpha1.Opening{}
	if d.Record != nil {
		for _, o := range d.Record.Openings {
			if d.isPossible(o) {
				byFrom[o.From.Unix()] = *o.DeepCopy()
			}
		}
	}
	for _, o := range d.Memory.Openings {
		byFrom[o.From.Unix()] = *o.DeepCopy()
	}
	for _, o := range byFrom {
		d.openings = append(d.openings, o)
	}
	slices.SortFunc(d.openings, func(a, b managerv1alpha1.Opening) int { return cmp.Compare(a.From.Unix(), b.From.Unix()) })
	for i := range d.openings {
		d.repair(&d.openings[i], i == len(d.openings)-1)
	}
}

// isPossible is false for an opening in the future, and for one that ends before it begins.
func (d *decision) isPossible(o managerv1alpha1.Opening) bool {
	return !o.From.After(d.Now.Add(tolerance)) && (o.ClosedBy == "" || o.Until != nil && !o.Until.Before(&o.From))
}

// repair corrects what a status can have only if another client wrote it.
func (d *decision) repair(o *managerv1alpha1.Opening, last bool) {
	if o.ClosedBy == "" && !last {
		o.ClosedBy = managerv1alpha1.ClosedChanged
		if o.Until == nil || o.Until.After(d.Now) {
			o.Until = new(metav1.NewTime(d.Now.Truncate(time.Second)))
		}
	}
	remembered := last && o.ClosedBy == "" && d.remembered() != nil
	if o.ClosedBy == "" && o.AllFrom != nil && !remembered && d.Live == managerv1alpha1.FailOpenPartly {
		o.AllFrom, o.AllRequests = nil, ""
	}
}

// used returns how long the webhook was open in the 24 hours before a time, by openings that have ended.
func (d *decision) used(at time.Time) time.Duration {
	var sum time.Duration
	for _, o := range d.openings {
		if o.ClosedBy == "" || o.Until == nil {
			continue
		}
		from, until := later(o.From.Time, at.Add(-day)), o.Until.Time
		if until.After(at) {
			until = at
		}
		sum += max(0, until.Sub(from))
	}
	return sum
}

// end returns when the opening ends at the latest: earlier openings count if they were within 24 hours before it.
func (d *decision) end() time.Time {
	opening := d.current()
	return opening.From.Add(max(0, d.Settings.For-d.used(opening.From.Time)))
}

// nextBudget returns when the oldest opening that counts begins to count less.
func (d *decision) nextBudget() time.Time {
	for _, o := range d.openings {
		if o.Until != nil && d.Now.Sub(o.Until.Time) < day {
			return later(o.From.Add(day+d.Settings.Least), d.Now.Add(time.Minute))
		}
	}
	return time.Time{}
}

// nextFree returns when the record has space for an opening, without one that ended within 24 hours; zero for now.
func (d *decision) nextFree() time.Time {
	var ends []time.Time
	for _, o := range d.openings {
		if o.Until != nil && d.Now.Sub(o.Until.Time) < day {
			ends = append(ends, o.Until.Time)
		}
	}
	if len(ends) < mostOpenings {
		return time.Time{}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-mostOpenings].Add(day)
}

// newest returns the openings for the record.
func (d *decision) newest() []managerv1alpha1.Opening {
	return d.openings[max(0, len(d.openings)-mostOpenings):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
