package e2e

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

// The measures of a drawing, in pixels.
const (
	drawingLeft   = 150
	drawingRight  = 860
	drawingTop    = 34
	laneHeight    = 30
	callsHeight   = 60
	drawingMargin = 16
)

// colours distinguish values: the previous ones, of both, of after.
var colours = map[string]string{
	"1": "#9ec5fe", "1 and 2": "#ffe08a", "2": "#a3d9a5", "nothing": "#f1aeb5",
	"Stable": "#e2e3e5", "Distributing": "#ffe08a", "Promoting": "#f7c59f", "Retiring": "#c5e8c6",
}

// draw is the timeline as SVG: a row of bars for each thing that was watched, and under them the calls.
func (l *timeline) draw(made []calls.Call) string {
	length := time.Duration(0)
	for _, c := range made {
		length = max(length, c.Sent.Sub(l.began))
	}
	x := func(at time.Duration) int {
		return drawingLeft + int(float64(drawingRight-drawingLeft)*float64(at)/float64(length))
	}
	height := drawingTop + laneHeight*len(l.names) + callsHeight + 2*drawingMargin
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", drawingRight+drawingMargin, height)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&svg, `<text x="%d" y="20">seconds since the order</text>`+"\n", drawingMargin/2)
	for second := range int(length/time.Second) + 1 {
		at := x(time.Duration(second) * time.Second)
		fmt.Fprintf(&svg, `<line x1="%[1]d" y1="26" x2="%[1]d" y2="%[2]d" stroke="#ccc"/><text x="%[1]d" y="20" text-anchor="middle">%[3]d</text>`+"\n", at, height-drawingMargin, second)
	}
	for i, lane := range l.names {
		top := drawingTop + laneHeight*i
		fmt.Fprintf(&svg, `<text x="%d" y="%d">%s</text>`+"\n", drawingMargin, top+16, lane)
		changes := l.lanes[lane]
		for j, c := range changes {
			end := length
			if j+1 < len(changes) {
				end = changes[j+1].at
			}
			fmt.Fprintf(&svg, `<rect x="%d" y="%d" width="%d" height="22" fill="%s"><title>%s from %s on</title></rect>`+"\n",
				x(c.at), top, max(x(end)-x(c.at), 2), colours[c.value], c.value, c.at.Round(10*time.Millisecond))
			if x(end)-x(c.at) > 8*len(c.value) {
				fmt.Fprintf(&svg, `<text x="%d" y="%d">%s</text>`+"\n", x(c.at)+4, top+16, c.value)
			}
		}
	}
	l.drawCalls(&svg, made, length, x, drawingTop+laneHeight*len(l.names)+callsHeight)
	svg.WriteString("</svg>\n")
	return svg.String()
}

// drawCalls has a bar for every quarter of a second, as high as there were calls in it: the ones that failed in red.
func (l *timeline) drawCalls(svg *strings.Builder, made []calls.Call, length time.Duration, x func(time.Duration) int, base int) {
	const step = 250 * time.Millisecond
	answered, lost, most := map[int]int{}, map[int]int{}, 1
	for _, c := range made {
		bin := int(c.Sent.Sub(l.began) / step)
		if c.Sent.Before(l.began) {
			continue
		}
		if c.Outcome == calls.Denied {
			answered[bin]++
		} else {
			lost[bin]++
		}
		most = max(most, answered[bin]+lost[bin])
	}
	n, failures := 0, 0
	for bin := range answered {
		n += answered[bin]
	}
	for bin := range lost {
		failures += lost[bin]
	}
	fmt.Fprintf(svg, `<text x="%[1]d" y="%[2]d">%[3]d calls,</text><text x="%[1]d" y="%[4]d">%[5]d failed</text>`+"\n", drawingMargin, base-20, n+failures, base-4, failures)
	bar := func(bin, from, count int, colour string) {
		left, high := x(time.Duration(bin)*step), count*(callsHeight-10)/most
		if count > 0 {
			fmt.Fprintf(svg, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left, base-from*(callsHeight-10)/most-high, max(x(step)-x(0)-1, 1), high, colour)
		}
	}
	for bin := range int(length/step) + 1 {
		bar(bin, 0, answered[bin], "#6c757d")
		bar(bin, answered[bin], lost[bin], "#dc3545")
	}
}
