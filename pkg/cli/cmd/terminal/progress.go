package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Progress is one line about the progress of a command.
type Progress struct {
	Line      string // in words
	Done, All int    // objects that are done, of all there are; 0 in other lines
	Final     bool   // a line that is not gives way to the next
}

// ProgressLine redraws one line in a terminal. Elsewhere it prints whole lines at a lower rate.
type ProgressLine struct {
	out      output.Writer
	terminal bool
	width    int // of the line that is redrawn; 0 at the start of a line
	printed  time.Time
}

// NewProgressLine returns a line at the end of the output.
func NewProgressLine(out output.Writer) *ProgressLine {
	return &ProgressLine{out: out, terminal: out.IsTerminal()}
}

const (
	redrawInterval = 100 * time.Millisecond
	logInterval    = 10 * time.Second
)

// Print shows the progress, unless the previous line is too recent.
func (p *ProgressLine) Print(progress Progress) {
	interval := logInterval
	if p.terminal {
		interval = redrawInterval
	}
	if !progress.Final && time.Since(p.printed) < interval {
		return
	}
	p.printed = time.Now()
	if !p.terminal {
		p.out.Printf("%s\n", progress.Line)
		return
	}
	p.width = p.out.Redraw(p.width, bar(progress)+progress.Line)
	if progress.Final {
		p.End()
	}
}

// End lets the next output begin on a new line.
func (p *ProgressLine) End() {
	if p.width > 0 {
		p.out.Printf("\n")
	}
	p.width = 0
}

const barWidth = 30

func bar(progress Progress) string {
	if progress.All == 0 {
		return ""
	}
	full := barWidth * progress.Done / progress.All
	return fmt.Sprintf("[%s%s] ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full))
}
