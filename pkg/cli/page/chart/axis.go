package chart

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// axis maps times to horizontal positions. It shortens long intervals in which nothing changed.
type axis []segment

type segment struct {
	from, to time.Time
	x, width float64
	broken   bool // drawn shorter than its duration
}

const (
	// breakRatio is how many times as long as all shorter intervals together an interval is that is shortened.
	breakRatio = 12
	// minBreak is the shortest interval that is shortened.
	minBreak = time.Minute
	// maxBreaks is how many intervals are shortened. The text of more would not fit.
	maxBreaks  = 8
	breakWidth = 40
	// minLength is that of an axis if all its times are equal.
	minLength = time.Second
)

// newAxis returns the axis of some changes. Most is how many intervals it may shorten.
func newAxis(times []time.Time, most int) axis {
	if len(times) == 0 {
		return nil
	}
	slices.SortFunc(times, time.Time.Compare)
	if last := times[len(times)-1]; last.Equal(times[0]) {
		times = append(times, last.Add(minLength))
	}
	limit := breakFrom(times, most)
	var a axis
	for i, to := range times[1:] {
		gap := secondsFrom(times[i], to)
		broken := gap >= limit
		switch last := len(a) - 1; {
		case gap == 0:
		case last >= 0 && !broken && !a[last].broken:
			a[last].to = to
		default:
			a = append(a, segment{from: times[i], to: to, broken: broken})
		}
	}
	return a.placed()
}

// secondsFrom returns the seconds between two times. A time.Duration has at most 292 years, a certificate can have
// more.
func secondsFrom(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// breakFrom returns the shortest interval that is shortened, in seconds. Changes within a second are one: clusters
// record whole seconds.
func breakFrom(sorted []time.Time, most int) float64 {
	gaps := make([]float64, 0, len(sorted))
	for i, to := range sorted[1:] {
		gaps = append(gaps, secondsFrom(sorted[i], to))
	}
	slices.Sort(gaps)
	var shorter float64
	for i, gap := range gaps {
		if shorter >= minLength.Seconds() && gap >= minBreak.Seconds() && gap > shorter*breakRatio && len(gaps)-i <= most {
			return gap
		}
		shorter += gap
	}
	return math.Inf(1)
}

// placed assigns the positions.
func (a axis) placed() axis {
	var whole float64 // seconds that are drawn to scale
	free := float64(chartWidth - chartLabels - chartMargin)
	for _, s := range a {
		if s.broken {
			free -= breakWidth
		} else {
			whole += secondsFrom(s.from, s.to)
		}
	}
	x := float64(chartLabels)
	for i := range a {
		a[i].x, a[i].width = x, breakWidth
		if !a[i].broken {
			a[i].width = free * secondsFrom(a[i].from, a[i].to) / whole
		}
		x += a[i].width
	}
	return a
}

// position of a time that is outside is the nearest end.
func (a axis) position(at time.Time) float64 {
	for _, s := range a {
		if !at.After(s.to) {
			return s.x + s.width*max(secondsFrom(s.from, at), 0)/secondsFrom(s.from, s.to)
		}
	}
	last := a[len(a)-1]
	return last.x + last.width
}

// Break is an interval that is drawn shorter than its duration.
type Break struct {
	X, Width float64
	Text     string
	// Path is the drawing of its mark.
	Path string
}

// Middle is where its mark and its text are.
func (b Break) Middle() float64 { return b.X + b.Width/2 }

// breaks are the shortened intervals.
func (c Chart) breaks() (all []Break) {
	for _, s := range c.axis {
		if s.broken {
			all = append(all, Break{X: round(s.x), Width: s.width, Text: duration.HumanDuration(s.to.Sub(s.from))})
		}
	}
	return all
}
