package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

// progressLine is the last line of a terminal, which changes until it is final. What is no
// terminal gets whole lines, and few of them.
type progressLine struct {
	out      output.Writer
	terminal bool
	open     int       // how long the line is that is not ended yet
	told     time.Time // the line before
}

func newProgressLine(out output.Writer) *progressLine {
	return &progressLine{out: out, terminal: out.IsTerminal()}
}

// How often a line is told that is not final: as often as an eye can follow, or as a log can bear.
const (
	redrawEvery = 100 * time.Millisecond
	logEvery    = 10 * time.Second
)

func (p *progressLine) tell(progress storage.Progress) {
	pause := logEvery
	if p.terminal {
		pause = redrawEvery
	}
	if !progress.Final && time.Since(p.told) < pause {
		return
	}
	p.told = time.Now()
	if !p.terminal {
		p.out.Printf("%s\n", progress.Line)
		return
	}
	p.open = p.out.Redraw(p.open, bar(progress)+progress.Line)
	if progress.Final {
		p.end()
	}
}

// end leaves the line as it is. What is printed next has one of its own.
func (p *progressLine) end() {
	if p.open > 0 {
		p.out.Printf("\n")
	}
	p.open = 0
}

const barWidth = 30

// bar is what is done of all, if it is known.
func bar(progress storage.Progress) string {
	if progress.All == 0 {
		return ""
	}
	full := barWidth * progress.Done / progress.All
	return fmt.Sprintf("[%s%s] ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full))
}
