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

// merge combines the record with what this process remembers. What it remembers cannot be edited.
func (d *decision) merge() {
	d.seconds = d.Memory.OpenSeconds
	if d.Record != nil {
		d.seconds = max(d.seconds, d.Record.OpenSeconds)
		if at := d.Record.LastServedTime; at != nil && !at.After(d.Now.Add(time.Second)) {
			d.served = at
		}
	}
	d.mergeOpenings()
}

func (d *decision) mergeOpenings() {
	byFrom := map[int64]managerv1alpha1.Opening{}
	if d.Record != nil {
		for _, o := range d.Record.Openings {
			if isPossible(o, d.Now) {
				byFrom[o.From.Unix()] = *o.DeepCopy()
			}
		}
	}
	for _, o := range d.Memory.Openings {
		byFrom[o.From.Unix()] = *o.DeepCopy()
	}
	for _, o := range byFrom {
		if d.isAhead(o) {
			d.ahead = append(d.ahead, o)
		} else {
			d.openings = append(d.openings, o)
		}
	}
	oldestFirst(d.ahead)
	oldestFirst(d.openings)
	for i := range d.openings {
		d.repair(&d.openings[i], i == len(d.openings)-1)
	}
	d.endAhead()
}

func oldestFirst(openings []managerv1alpha1.Opening) {
	slices.SortFunc(openings, func(a, b managerv1alpha1.Opening) int { return cmp.Compare(a.From.Unix(), b.From.Unix()) })
}

// isPossible is false for an opening that ends before it begins, and for one that begins later than clocks differ.
func isPossible(o managerv1alpha1.Opening, now time.Time) bool {
	return !o.From.After(now.Add(day)) && (o.ClosedBy == "" || hasEnded(o))
}

// isAhead reports whether an opening is recorded by a clock that was ahead of the clock of this process.
func (d *decision) isAhead(o managerv1alpha1.Opening) bool {
	if o.ClosedBy == "" {
		return !d.remembers(o) && o.From.After(d.Now.Add(tolerance))
	}
	return o.From.After(d.Now)
}

// endAhead keeps openings of the future in the record: the webhook was open. Such an opening does not last. If the configuration
// is open, recordUnrecorded records it with a time that is possible.
func (d *decision) endAhead() {
	d.ahead = slices.DeleteFunc(d.ahead, func(o managerv1alpha1.Opening) bool {
		claims := o.ClosedBy == "" && d.isLiveOpen() && d.current() == nil
		d.claimed = d.claimed || claims
		return claims
	})
	for i := range d.ahead {
		if o := &d.ahead[i]; o.ClosedBy == "" {
			o.ClosedBy, o.Until = managerv1alpha1.ClosedTimeOver, o.From.DeepCopy()
		}
	}
}

// repair corrects what a status can have only if another client wrote it.
func (d *decision) repair(o *managerv1alpha1.Opening, last bool) {
	if o.ClosedBy == "" && !last {
		o.ClosedBy = managerv1alpha1.ClosedChanged
		if o.Until == nil || o.Until.After(d.Now) {
			o.Until = new(metav1.NewTime(d.Now.Truncate(time.Second)))
		}
	}
	remembered := last && o.ClosedBy == "" && d.remembers(*o)
	if o.ClosedBy == "" && o.AllFrom != nil && !remembered && d.Live == managerv1alpha1.FailOpenPartly {
		o.AllFrom, o.AllRequests = nil, ""
	}
}

// limits returns what limits the next opening.
func (d *decision) limits() limits {
	return limits{d.Now, d.Settings, slices.Concat(d.openings, d.ahead)}
}

// end returns when the opening ends at the latest: earlier openings count if they were within 24 hours before it.
func (d *decision) end() time.Time {
	opening := d.current()
	return opening.From.Add(max(0, d.Settings.For-d.limits().used(opening.From.Time)))
}

// newest returns the openings for the record. The last one may last, so that the ones of the future are before it.
func (d *decision) newest() []managerv1alpha1.Opening {
	all := slices.Concat(d.ahead, d.openings)
	return all[max(0, len(all)-mostOpenings):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
