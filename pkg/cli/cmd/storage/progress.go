package storage

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

// progressLine redraws one line in a terminal. Elsewhere it prints whole lines at a lower rate.
type progressLine struct {
	out      output.Writer
	terminal bool
	width    int // of the line that is redrawn; 0 at the start of a line
	printed  time.Time
}

func newProgressLine(out output.Writer) *progressLine {
	return &progressLine{out: out, terminal: out.IsTerminal()}
}

const (
	redrawInterval = 100 * time.Millisecond
	logInterval    = 10 * time.Second
)

func (p *progressLine) print(progress storage.Progress) {
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
		p.end()
	}
}

func (p *progressLine) end() {
	if p.width > 0 {
		p.out.Printf("\n")
	}
	p.width = 0
}

const barWidth = 30

func bar(progress storage.Progress) string {
	if progress.All == 0 {
		return ""
	}
	full := barWidth * progress.Done / progress.All
	return fmt.Sprintf("[%s%s] ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full))
}
