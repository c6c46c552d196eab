package takeover

import (
	"fmt"
	"strings"
	"time"
)

// Window is a maintenance window of each day. It may end on the next day.
type Window struct {
	// From and Until are durations since midnight.
	From, Until time.Duration
	Location    *time.Location
}

// ParseWindow reads a window such as 22:00-04:00, in a time zone.
func ParseWindow(text string, in *time.Location) (*Window, error) {
	from, until, valid := strings.Cut(text, "-")
	begin, errBegin := clock(from)
	end, errEnd := clock(until)
	if !valid || errBegin != nil || errEnd != nil || begin == end {
		return nil, fmt.Errorf("maintenance window %q: write two times of a day, such as 22:00-04:00", text)
	}
	return &Window{From: begin, Until: end, Location: in}, nil
}

// clock returns the duration since midnight of a time such as 22:00.
func clock(text string) (time.Duration, error) {
	at, err := time.Parse("15:04", text)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err
}

// Contains reports whether a time is in the window.
func (w *Window) Contains(now time.Time) bool {
	at := now.In(w.Location)
	since := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if w.From < w.Until {
		return w.From <= since && since < w.Until
	}
	return w.From <= since || since < w.Until
}

// Opens returns when the window opens next after a time outside of it.
func (w *Window) Opens(now time.Time) time.Time {
	at := now.In(w.Location)
	opens := time.Date(at.Year(), at.Month(), at.Day(), 0, int(w.From/time.Minute), 0, 0, w.Location)
	if !opens.After(now) {
		opens = opens.AddDate(0, 0, 1)
	}
	return opens
}

// String returns the window as ParseWindow reads it, with its time zone.
func (w *Window) String() string {
	written := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60) }
	return fmt.Sprintf("%s-%s %s", written(w.From), written(w.Until), w.Location)
}
