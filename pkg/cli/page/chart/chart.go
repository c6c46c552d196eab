// Package chart draws what was the case at which time, one row above the other. It is pure.
package chart

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Chart has one row for each thing that changes with time.
type Chart struct {
	// Now is marked.
	Now  time.Time
	Rows []Row
	axis axis
}

// Row is one line of a chart.
type Row struct {
	Name string
	// Bars are in the order of their times, and do not overlap.
	Bars     []Bar
	Instants []Instant
	// Unknown is what nothing records about the row; otherwise empty.
	Unknown string
}

// Bar is an interval in which something was the case.
type Bar struct {
	From, To time.Time
	Text     string
	Color    Color
}

// Instant is a time at which something happened.
type Instant struct {
	At    time.Time
	Text  string
	Color Color
}

// Color is the name of a color in the style sheet.
type Color string

// The colors of states.
const (
	Good Color = "good"
	Wait Color = "wait"
	Next Color = "next"
	Bad  Color = "bad"
	Idle Color = "idle"
	// Unknown is an outline without a filling: what was the case is not known.
	Unknown Color = "unknown"
	// Mixed is the color of several things that have a color of a series each.
	Mixed Color = "mixed"
)

// series is the number of colors of a series in the style sheet.
const series = 4

// Series returns the color of the i-th of several things of one kind.
func Series(i int) Color { return Color(fmt.Sprintf("s%d", i%series)) }

// New returns the chart of some rows. It shortens long intervals without a change. Rows without a content are omitted.
func New(now time.Time, rows ...Row) Chart { return newChart(now, rows, maxBreaks) }

// ToScale returns a chart that shortens no interval.
func ToScale(now time.Time, rows ...Row) Chart { return newChart(now, rows, 0) }

func newChart(now time.Time, rows []Row, breaks int) Chart {
	c := Chart{Now: now, Rows: slices.DeleteFunc(slices.Clone(rows), Row.isEmpty)}
	c.axis = newAxis(c.times(), breaks)
	return c
}

func (r Row) isEmpty() bool { return len(r.Bars)+len(r.Instants) == 0 && r.Unknown == "" }

// times are those of all changes. A chart without any has no axis.
func (c Chart) times() (all []time.Time) {
	for _, row := range c.Rows {
		for _, b := range row.Bars {
			all = append(all, b.From, b.To)
		}
		for _, i := range row.Instants {
			all = append(all, i.At)
		}
	}
	if len(all) > 0 {
		all = append(all, c.Now)
	}
	return all
}

// Empty reports whether there is nothing to draw.
func (c Chart) Empty() bool { return len(c.axis) == 0 }

// WithoutTime is the same for two charts that differ in the present only.
func (c Chart) WithoutTime() Chart {
	rows := slices.Clone(c.Rows)
	for i := range rows {
		rows[i].Bars = slices.Clone(rows[i].Bars)
		if last := len(rows[i].Bars) - 1; last >= 0 && rows[i].Bars[last].To.Equal(c.Now) {
			rows[i].Bars[last].To = time.Time{} // It lasts until now.
		}
	}
	return Chart{Rows: rows}
}

// Item is one fact of a chart as text.
type Item struct {
	Row, Text string
	From      time.Time
	// To is zero for an instant, and for what nothing records.
	To time.Time
	// Length is how long it lasted; empty for an instant.
	Length string
}

// Items are all facts of the chart, for readers who do not see it.
func (c Chart) Items() (all []Item) {
	for _, row := range c.Rows {
		for _, b := range row.Bars {
			all = append(all, Item{row.Name, b.Text, b.From, b.To, duration.HumanDuration(b.To.Sub(b.From))})
		}
		for _, i := range row.Instants {
			all = append(all, Item{Row: row.Name, Text: i.Text, From: i.At})
		}
		if row.Unknown != "" {
			all = append(all, Item{Row: row.Name, Text: row.Unknown})
		}
	}
	return all
}
