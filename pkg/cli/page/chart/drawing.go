package chart

import (
	"cmp"
	"fmt"
	"slices"
)

// The size of a drawn chart, in units of its view box.
const (
	chartWidth  = 1100
	chartLabels = 210
	chartMargin = 28 // at the right: half of a label
	rowHeight   = 30
	barHeight   = 22
	topHeight   = 22 // of the durations of shortened intervals
	lowerHeight = 24 // of the labels of times
	// labelLetters is how many average letters the name of a row has space for.
	labelLetters = 26
	// minVisible is the width of a short bar.
	minVisible = 2
	// padding is the space between the start of a bar and its text.
	padding = 5
	// radius is that of an instant.
	radius = 5
	// tooth is the height of a tooth of the mark of a shortened interval, and its width.
	tooth = 8
)

// Drawing is a chart with the positions of all its parts.
type Drawing struct {
	Width, Height int
	// Top and Bottom are the edges of the rows.
	Top, Bottom int
	Ticks       []Tick
	Rows        []DrawnRow
	Breaks      []Break
	Now         float64
}

// DrawnRow is a row with its positions.
type DrawnRow struct {
	Row

	Y, Middle int
	// Label is as much of the name as there is space for.
	Label    string
	Bars     []DrawnBar
	Instants []DrawnInstant
	// Note is Unknown, at NoteX.
	Note  string
	NoteX float64
}

// DrawnBar is a bar with its position.
type DrawnBar struct {
	Bar

	X, Width float64
	Height   int
	// Label is as much of the text as there is space for, at TextX. It is empty if that is too little to be read. Anchor
	// is the part of the label that is at TextX, as in SVG.
	Label, Anchor string
	TextX         float64
}

// DrawnInstant is an instant with its position.
type DrawnInstant struct {
	Instant

	X      float64
	Radius int
}

// Drawing places all parts of the chart.
func (c Chart) Drawing() Drawing {
	d := Drawing{Width: chartWidth, Top: 6, Ticks: c.ticks(), Breaks: c.breaks(), Now: c.axis.position(c.Now)}
	if len(d.Breaks) > 0 {
		d.Top = topHeight
	}
	for i, row := range c.Rows {
		d.Rows = append(d.Rows, c.drawnRow(row, d.Top+rowHeight*i))
	}
	d.Bottom = d.Top + rowHeight*len(c.Rows)
	d.Height = d.Bottom + lowerHeight
	for i, b := range d.Breaks {
		d.Breaks[i].Path = zigzag(b.X+b.Width/2, d.Top, d.Bottom)
	}
	return d
}

func (c Chart) drawnRow(row Row, y int) DrawnRow {
	drawn := DrawnRow{Row: row, Y: y, Middle: y + barHeight/2, Label: abridged(row.Name, labelLetters)}
	for _, b := range row.Bars {
		x := c.axis.position(b.From)
		drawn.Bars = append(drawn.Bars, DrawnBar{Bar: b, X: round(x), Width: round(max(c.axis.position(b.To)-x, minVisible)), Height: barHeight})
	}
	for _, i := range row.Instants {
		drawn.Instants = append(drawn.Instants, DrawnInstant{i, round(c.axis.position(i.At)), radius})
	}
	c.label(&drawn)
	return drawn
}

// label places texts where nothing is drawn over them: inside the bar, directly behind the last one, or before the
// first one. A row without a bar has a note.
func (c Chart) label(row *DrawnRow) {
	obstacles := make([]interval, 0, len(row.Instants))
	for _, b := range c.breaks() {
		obstacles = append(obstacles, interval{b.Middle() - tooth, b.Middle() + tooth})
	}
	for _, i := range row.Instants {
		obstacles = append(obstacles, interval{i.X - radius, i.X + radius})
	}
	for i := range row.Bars {
		b := &row.Bars[i]
		end := b.X + b.Width
		free := interval{b.X, end}.without(obstacles)
		if i == len(row.Bars)-1 {
			free = append(free, interval{end, chartWidth}.without(obstacles)[0])
		}
		b.Label, b.TextX = placed(b.Text, free)
		b.Anchor = "start"
		if i == 0 && b.Label == "" {
			before := interval{chartLabels, b.X}.without(obstacles)
			b.Label, _ = placed(b.Text, before[len(before)-1:])
			b.TextX, b.Anchor = round(b.X-padding), "end"
		}
	}
	if len(row.Row.Bars)+len(row.Row.Instants) == 0 {
		row.Note, row.NoteX = placed(row.Unknown, interval{chartLabels, chartWidth}.without(obstacles))
	}
}

// interval is between two horizontal positions.
type interval struct{ from, to float64 }

// without returns the parts of an interval that no other one covers.
func (i interval) without(others []interval) (free []interval) {
	slices.SortFunc(others, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	for _, other := range others {
		if other.to <= i.from || other.from >= i.to {
			continue
		}
		free = append(free, interval{i.from, other.from})
		i.from = max(i.from, other.to)
	}
	return append(free, i)
}

// placed returns a text in the first interval that has space for all of it, or as much as there is space for in the
// first one that has space for some.
func placed(text string, free []interval) (label string, x float64) {
	const least = 4
	fitting := func(space int) func(interval) bool {
		return func(i interval) bool { return letters(i.to-i.from-2*padding) >= space }
	}
	i := slices.IndexFunc(free, fitting(len([]rune(text))))
	if i < 0 {
		i = slices.IndexFunc(free, fitting(least))
	}
	if i < 0 {
		return "", 0
	}
	return Clipped(text, letters(free[i].to-free[i].from-2*padding)), round(free[i].from + padding)
}

// round keeps the document small.
func round(x float64) float64 { return float64(int(x*10+0.5)) / 10 }

// zigzag is the path of the mark of a shortened interval.
func zigzag(middle float64, top, bottom int) string {
	path := fmt.Sprintf("M%g %d", round(middle), top)
	for y, side := top+tooth, tooth/2.0; y <= bottom; y, side = y+tooth, -side {
		path += fmt.Sprintf("L%g %d", round(middle+side), y)
	}
	return path
}
