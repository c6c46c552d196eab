package audit

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// slot is the resolution of the times at which a log has lines.
	slot = 10 * time.Second
	// longestPause is how long an API server writes no line at most: each node writes a Lease every 10 seconds.
	longestPause = time.Minute
)

// slots are the times at which a log has lines, in units of slot since 1970.
type slots map[int64]bool

func slotOf(t time.Time) int64 { return t.Unix() / int64(slot/time.Second) }

func (s slots) add(t time.Time) { s[slotOf(t)] = true }

func beginOf(slotNumber int64) time.Time { return time.Unix(slotNumber*int64(slot/time.Second), 0) }

// pause returns the first time without lines, longer than longestPause, that overlaps an interval.
func (s slots) pause(from, until time.Time) (begin, end time.Time, is bool) {
	all := slices.Sorted(maps.Keys(s))
	for i := 1; i < len(all); i++ {
		begin, end = beginOf(all[i-1]+1), beginOf(all[i])
		if end.Sub(begin) >= longestPause && begin.Before(until) && end.After(from) {
			return begin, end, true
		}
	}
	return time.Time{}, time.Time{}, false
}

// lacks returns why the log does not cover an opening; empty if it does.
func (l *Log) lacks(w window) string {
	until := l.Last
	if !w.lasts {
		until = w.Until.Time
	}
	if l.First.After(w.From.Time) || l.Last.Before(until) {
		return "the audit log does not cover it"
	}
	if begin, end, is := l.lines.pause(w.From.Time, until); is {
		return fmt.Sprintf("the audit log has no line from %s until %s: give the files of this time, too", begin.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	}
	return ""
}
