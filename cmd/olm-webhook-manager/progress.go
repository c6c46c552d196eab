package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/storage"
)

// progressLine is the last line of a terminal, which changes until it is final. What is no
// terminal gets whole lines, and few of them.
type progressLine struct {
	out      io.Writer
	terminal bool
	open     int       // how long the line is that is not ended yet
	told     time.Time // the line before
}

func newProgressLine(out io.Writer) *progressLine {
	file, isFile := out.(*os.File)
	return &progressLine{out: out, terminal: isFile && term.IsTerminal(int(file.Fd()))}
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
		fmt.Fprintln(p.out, progress.Line)
		return
	}
	if p.open > 0 {
		fmt.Fprint(p.out, "\r")
	}
	line := bar(progress) + progress.Line
	fmt.Fprintf(p.out, "%-*s", p.open, line)
	p.open = len(line)
	if progress.Final {
		p.end()
	}
}

// end leaves the line as it is. What is printed next has one of its own.
func (p *progressLine) end() {
	if p.open > 0 {
		fmt.Fprintln(p.out)
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
