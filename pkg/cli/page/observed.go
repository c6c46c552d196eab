package page

import (
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// span is an interval in which the same was observed.
type span[T any] struct {
	from, until time.Time
	value       T
}

const (
	// maxSpans is how many changes of one thing are kept. A rotation has about ten.
	maxSpans = 200
	// maxGap is the time between two observations after which it is not known what happened between them.
	maxGap = time.Minute
)

// observed returns the spans with an observation. It does not modify the previous spans.
func observed[T any](spans []span[T], value T, now time.Time, same func(a, b T) bool) []span[T] {
	spans = slices.Clone(spans)
	if len(spans) > 0 {
		last := &spans[len(spans)-1]
		if now.Sub(last.until) <= maxGap {
			last.until = now
			if same(last.value, value) {
				return spans
			}
		}
	}
	spans = append(spans, span[T]{now, now, value})
	return spans[max(0, len(spans)-maxSpans):]
}

// barsOf joins consecutive equal texts. Empty texts have no bar.
func barsOf[T any](spans []span[T], look func(T) (string, chart.Color)) (bars []chart.Bar) {
	for _, s := range spans {
		text, color := look(s.value)
		switch last := len(bars) - 1; {
		case text == "":
		case last >= 0 && bars[last].Text == text && bars[last].To.Equal(s.from):
			bars[last].To = s.until
		default:
			bars = append(bars, chart.Bar{From: s.from, To: s.until, Text: text, Color: color})
		}
	}
	return bars
}
