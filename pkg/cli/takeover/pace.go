package takeover

import (
	"slices"
	"time"
)

// Paced limits a decision to the beginning of one CSV, and lets it wait until the pace allows that. So each CSV begins with
// a decision from a new snapshot. ordered is when the last CSV began.
func Paced(d Decision, ordered, now time.Time, pace time.Duration) Decision {
	begin := slices.IndexFunc(d.Writes, Write.Begins)
	if pace <= 0 || begin < 0 {
		return d
	}
	at := ordered.Add(pace)
	switch {
	case now.Before(at) && begin > 0:
		d.Writes = d.Writes[:begin]
	case now.Before(at):
		d.Writes, d.Patient = nil, true
		d.Wait = "the pace: the next ClusterServiceVersion begins at " + at.Format(time.TimeOnly)
	default:
		if next := slices.IndexFunc(d.Writes[begin+1:], Write.Begins); next >= 0 {
			d.Writes = d.Writes[:begin+1+next]
		}
	}
	return d
}

// Begins reports whether the manager begins to change the objects of a CSV after the write.
func (w Write) Begins() bool {
	o := Order(w.Value)
	return w.Verb == SetOrder && (o == Held || o == Converge || o == GiveBack)
}
