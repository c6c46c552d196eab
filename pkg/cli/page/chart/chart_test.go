package chart

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var start = time.Date(2026, 5, 4, 12, 0, 3, 0, time.UTC)

// rowAt has an instant at each distance from the start.
func rowAt(distances ...time.Duration) Row {
	row := Row{Name: "row"}
	for _, d := range distances {
		row.Instants = append(row.Instants, Instant{At: start.Add(d)})
	}
	return row
}

func TestTicks(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		distances []time.Duration
		ticks     []string
		breaks    []string
	}{
		"seconds":         {[]time.Duration{0, 12 * time.Second}, []string{"2026-05-04 12:00:03", "12:00:06", "12:00:08", "12:00:10", "12:00:12", "12:00:14"}, nil},
		"hours":           {[]time.Duration{0, 6 * time.Hour}, []string{"2026-05-04 12:00", "14:00", "15:00", "16:00", "17:00", "18:00"}, nil},
		"over midnight":   {[]time.Duration{0, 24 * time.Hour}, []string{"2026-05-04 12:00", "18:00", "2026-05-05 00:00", "06:00", "12:00"}, nil},
		"months":          {[]time.Duration{0, 365 * day}, []string{"2026-05-04", "2026-07-01", "2026-10-01", "2027-01-01", "2027-04-01"}, nil},
		"years":           {[]time.Duration{0, 10 * 365 * day}, []string{"2026-05-04", "2028", "2029", "2030", "2031", "2032", "2033", "2034", "2035", "2036"}, nil},
		"one time":        {[]time.Duration{0}, []string{"2026-05-04 12:00:03"}, nil},
		"a long silence":  {[]time.Duration{0, 5 * time.Second, 100 * day, 100*day + 5*time.Second}, []string{"2026-05-04 12:00:03", "12:00:06", "12:00:07", "2026-08-12 12:00:03", "12:00:06", "12:00:07"}, []string{"99d"}},
		"changes at once": {[]time.Duration{0, time.Millisecond, 6 * time.Hour}, []string{"2026-05-04 12:00", "14:00", "15:00", "16:00", "17:00", "18:00"}, nil},
		"several":         {[]time.Duration{0, 5 * time.Second, 10 * time.Minute, 90 * day}, []string{"2026-05-04 12:00:03", "12:00:05", "12:00:06", "12:00:07", "12:00:08"}, []string{"9m55s", "89d"}},
		"an interval of twice the rest is not shortened": {[]time.Duration{0, 2 * time.Hour, 24 * time.Hour}, []string{"2026-05-04 12:00", "18:00", "2026-05-05 00:00", "06:00", "12:00"}, nil},
	} {
		d := New(start, rowAt(test.distances...)).Drawing()
		installtest.Same(t, name+": ticks", test.ticks, lists.Map(d.Ticks, func(tick Tick) string { return tick.Text }))
		installtest.Same(t, name+": breaks", test.breaks, lists.Map(d.Breaks, func(b Break) string { return b.Text }))
		for i, tick := range d.Ticks {
			if i > 0 && tick.X <= d.Ticks[i-1].X || tick.X < chartLabels || tick.X > chartWidth {
				t.Errorf("%s: tick %s at %g", name, tick.Text, tick.X)
			}
		}
	}
}

func TestToScale(t *testing.T) {
	row := rowAt(0, 5*time.Second, 100*24*time.Hour)
	installtest.Same(t, "shortened", []int{1, 0}, []int{len(New(start, row).Drawing().Breaks), len(ToScale(start, row).Drawing().Breaks)})
}

// Everything is inside the drawing, in the order of the times, for times of all distances.
func TestPositions(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, bars := range map[string][]Bar{
		"a CA of all times": {{From: year(1), To: year(9999)}},
		"before now":        {{From: start.Add(-time.Hour), To: start.Add(-time.Minute)}},
		"after now":         {{From: start.Add(time.Minute), To: start.Add(time.Hour)}},
		"no length":         {{From: start, To: start}},
		"many":              installtest.Times(300, func(i int) Bar { return Bar{From: start.AddDate(0, 0, i), To: start.AddDate(0, 0, i+1), Text: "text"} }),
		"backwards":         {{From: start, To: start.Add(-time.Hour)}},
	} {
		d := New(start, Row{Name: "row", Bars: bars}).Drawing()
		for _, b := range d.Rows[0].Bars {
			if b.X < chartLabels || b.X+b.Width > chartWidth || b.Width < minVisible {
				t.Errorf("%s: a bar at %g of %g", name, b.X, b.Width)
			}
		}
		if d.Now < chartLabels || d.Now > chartWidth {
			t.Errorf("%s: now at %g", name, d.Now)
		}
		if len(d.Ticks) == 0 || len(d.Ticks) > 20 {
			t.Errorf("%s: %d ticks", name, len(d.Ticks))
		}
	}
}

// Texts stay in the space that they have.
func TestTextsAreClipped(t *testing.T) {
	long := strings.Repeat("ж", 300)
	d := New(start.Add(time.Hour), Row{Name: long, Bars: []Bar{
		{From: start, To: start.Add(time.Second), Text: long}, {From: start.Add(time.Second), To: start.Add(6 * time.Minute), Text: long}, {From: start.Add(time.Minute), To: start.Add(time.Hour), Text: "short"},
	}}, Row{Name: "b", Unknown: long}).Drawing()
	for i, text := range []string{d.Rows[0].Label, d.Rows[0].Bars[0].Label, d.Rows[0].Bars[1].Label, d.Rows[0].Bars[2].Label, d.Rows[1].Note} {
		installtest.Same(t, fmt.Sprint(i), []string{strings.Repeat("ж", 13) + "…" + strings.Repeat("ж", 12), "", strings.Repeat("ж", 9) + "…", "short", strings.Repeat("ж", 121) + "…"}[i], text)
	}
}

// A character without a glyph has the width of a letter.
func TestLabelsAreVisible(t *testing.T) {
	for _, label := range []func(string, int) string{Clipped, abridged} {
		installtest.Same(t, "label", "a\ufffdb", label("a\u202eb", 3))
	}
}

func TestItems(t *testing.T) {
	c := New(start.Add(time.Minute), Row{Name: "a", Bars: []Bar{{From: start, To: start.Add(time.Minute), Text: "b"}}, Instants: []Instant{{At: start, Text: "c"}}, Unknown: "d"}, Row{Name: "empty"})
	installtest.Same(t, "items", []Item{
		{Row: "a", Text: "b", From: start, To: start.Add(time.Minute), Length: "60s"}, {Row: "a", Text: "c", From: start}, {Row: "a", Text: "d"},
	}, c.Items())
	installtest.Same(t, "a chart without times is empty", true, New(start, Row{Name: "a", Unknown: "b"}).Empty())
}

// A bar that lasts until now does not change with the time, except if it ends.
func TestWithoutTime(t *testing.T) {
	of := func(now, to time.Time) string {
		return fmt.Sprint(New(now, Row{Name: "a", Bars: []Bar{{From: start, To: to}}}).WithoutTime())
	}
	at := start.Add(time.Hour)
	installtest.Same(t, "later", of(at, at), of(at.Add(time.Hour), at.Add(time.Hour)))
	if of(at, at) == of(at.Add(time.Hour), at) {
		t.Error("the end of a bar is no change")
	}
}

// No mark and no other bar is drawn over a text.
func TestLabels(t *testing.T) {
	const day = 24 * time.Hour
	bar := func(from, to time.Duration, text string) Bar {
		return Bar{From: start.Add(from), To: start.Add(to), Text: text}
	}
	c := New(start.Add(30*day+20*time.Second),
		Row{Name: "over a break", Bars: []Bar{bar(9*time.Second, 30*day+20*time.Second, "available since a while")}},
		Row{Name: "with an instant", Bars: []Bar{bar(0, 10*time.Second, "available")}, Instants: []Instant{{At: start}, {At: start.Add(30 * day)}}},
		Row{Name: "before a break", Bars: []Bar{bar(0, 15*time.Second, "longer than the space before the break")}},
		Row{Name: "without a bar", Unknown: "not recorded, and longer than the space before the break"},
		Row{Name: "at the end", Bars: []Bar{bar(30*day+20*time.Second, 30*day+20*time.Second, "begins now")}},
		Row{Name: "short", Bars: []Bar{bar(0, time.Second, "longer than the bar"), bar(time.Second, 2*time.Second, "behind the bar")}},
	)
	rows := c.Drawing().Rows
	at := c.Drawing().Breaks[0].Middle()
	if b := rows[0].Bars[0]; b.Label != "available since a while" || b.TextX < at {
		t.Errorf("%q at %g, and the break at %g", b.Label, b.TextX, at)
	}
	if b := rows[1].Bars[0]; b.Label != "available" || b.TextX < b.X+radius+padding {
		t.Errorf("%q at %g, and the instant at %g", b.Label, b.TextX, b.X)
	}
	if b := rows[2].Bars[0]; len(b.Label) == 0 || b.TextX > at {
		t.Errorf("%q at %g, and the bar ends at %g", b.Label, b.TextX, b.X+b.Width)
	}
	if row := rows[3]; row.Note != row.Unknown || row.NoteX < at {
		t.Errorf("%q at %g, and the break at %g", row.Note, row.NoteX, at)
	}
	if b := rows[4].Bars[0]; b.Label != "begins now" || b.Anchor != "end" || b.TextX > b.X {
		t.Errorf("%q of %s %g, and the bar begins at %g", b.Label, b.Anchor, b.TextX, b.X)
	}
	short, last := rows[5].Bars[0], rows[5].Bars[1]
	if len([]rune(short.Label)) > 6 || last.Label != "behind the bar" || last.TextX < last.X+last.Width {
		t.Errorf("%q, and %q at %g behind a bar from %g to %g", short.Label, last.Label, last.TextX, last.X, last.X+last.Width)
	}
}
