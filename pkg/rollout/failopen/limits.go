package failopen

import (
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// limits are the limits of time and number for openings in 24 hours. The settings can be nil for the used time alone.
type limits struct {
	now      time.Time
	settings *Settings
	openings []managerv1alpha1.Opening // with openings of the future last
}

// used returns how long the webhook was open in the 24 hours before a time, by openings that have ended. After a step of the
// clock back, they may end in the future.
func (l limits) used(at time.Time) time.Duration {
	var sum time.Duration
	for _, o := range l.openings {
		if o.ClosedBy != "" && o.Until != nil {
			sum += max(0, o.Until.Sub(later(o.From.Time, at.Add(-day))))
		}
	}
	return sum
}

// reached reports whether the time or the number of openings of 24 hours is used up, and until when; zero if only other settings
// end it.
func (l limits) reached() (limited bool, until time.Time) {
	if left := l.settings.For - l.used(l.now); left < l.settings.Least {
		return true, l.nextBudget()
	}
	free := l.nextFree()
	return !free.IsZero(), free
}

// nextBudget returns when the oldest opening that counts begins to count less.
func (l limits) nextBudget() time.Time {
	for _, o := range l.openings {
		if o.Until != nil && l.now.Sub(o.Until.Time) < day {
			return later(o.From.Add(day+l.settings.Least), l.now.Add(time.Minute))
		}
	}
	return time.Time{}
}

// nextFree returns when the record has space for an opening, without one that ended within 24 hours; zero for now.
func (l limits) nextFree() time.Time {
	var ends []time.Time
	for _, o := range l.openings {
		if o.Until != nil && l.now.Sub(o.Until.Time) < day {
			ends = append(ends, o.Until.Time)
		}
	}
	if len(ends) < mostOpenings {
		return time.Time{}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-mostOpenings].Add(day)
}
