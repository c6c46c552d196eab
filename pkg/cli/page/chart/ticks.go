package chart

import (
	"cmp"
	"slices"
	"time"
)

// Tick is a labelled time at the lower edge. Anchor is the part of the label that is at X, as in SVG.
type Tick struct {
	X            float64
	Text, Anchor string
}

// ticks are the start of each interval that is drawn to scale, and round times in it, as far as their labels do not
// overlap. The starts come first: round times can be omitted.
func (c Chart) ticks() []Tick {
	var l labels
	for _, s := range c.axis {
		if !s.broken {
			l.add(Tick{s.x, l.text(s.from, stepOf(s).exact), "start"})
		}
	}
	for _, s := range c.axis {
		if s.broken {
			continue
		}
		step := stepOf(s)
		l.day = s.from.UTC().Format(time.DateOnly)
		for at := step.first(s.from); !at.After(s.to); at = step.next(at) {
			l.add(Tick{c.axis.position(at), l.text(at, step.format), "middle"})
		}
	}
	slices.SortFunc(l.ticks, func(a, b Tick) int { return cmp.Compare(a.X, b.X) })
	return l.ticks
}

// labels are the ticks that are placed.
type labels struct {
	ticks []Tick
	taken []interval
	day   string // of the last label that has a time of day
}

// text has the date in the first label of each day.
func (l *labels) text(at time.Time, format string) string {
	at = at.UTC()
	text, day := at.Format(format), at.Format(time.DateOnly)
	if format != time.TimeOnly && format != minutes || day == l.day {
		return text
	}
	l.day = day
	return day + " " + text
}

// add omits a label that has no space.
func (l *labels) add(t Tick) {
	const space = 2 * letterWidth
	width := letterWidth * float64(len(t.Text))
	label := interval{t.X, t.X + width}
	if t.Anchor == "middle" {
		label = interval{t.X - width/2, t.X + width/2}
	}
	if label.to > chartWidth || slices.ContainsFunc(l.taken, func(other interval) bool { return label.from < other.to+space && other.from < label.to+space }) {
		return
	}
	t.X = round(t.X)
	l.ticks, l.taken = append(l.ticks, t), append(l.taken, label)
}
