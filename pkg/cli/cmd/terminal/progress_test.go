package terminal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A terminal redraws one line and starts the next output on a new one. A log gets whole lines. Both limit the rate.
func TestProgressLine(t *testing.T) {
	rewritten := func(done, all int, final bool) Progress {
		return Progress{Line: fmt.Sprintf("rewritten %d of %d", done, all), Done: done, All: all, Final: final}
	}
	full, half, none := strings.Repeat("#", barWidth), strings.Repeat("#", barWidth/2)+strings.Repeat(".", barWidth/2), strings.Repeat(".", barWidth)
	for name, test := range map[string]struct {
		terminal bool
		pause    time.Duration // between two
		lines    []Progress
		want     string
	}{
		"a bar": {true, redrawInterval, []Progress{rewritten(0, 1000, false), rewritten(500, 1000, false), rewritten(1000, 1000, true)},
			"[" + none + "] rewritten 0 of 1000\r[" + half + "] rewritten 500 of 1000\r[" + full + "] rewritten 1000 of 1000\n"},
		"the last line is not final": {true, redrawInterval, []Progress{rewritten(500, 1000, false)}, "[" + half + "] rewritten 500 of 1000\n"},
		"a shorter line": {true, redrawInterval, []Progress{{Line: "waiting until 10:00:00 for requests"}, {Line: "it has", Final: true}},
			"waiting until 10:00:00 for requests\rit has                             \n"},
		"too many lines for a terminal": {true, redrawInterval / 2, []Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)},
			"[" + none + "] rewritten 0 of 2\r[" + full + "] rewritten 2 of 2\n"},
		"a log":                    {false, logInterval, []Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)}, "rewritten 0 of 2\nrewritten 1 of 2\nrewritten 2 of 2\n"},
		"too many lines for a log": {false, redrawInterval, []Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)}, "rewritten 0 of 2\nrewritten 2 of 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := &ProgressLine{out: output.New(&out), terminal: test.terminal}
				for _, progress := range test.lines {
					p.Print(progress)
					<-time.After(test.pause)
				}
				p.End()
				installtest.Same(t, "printed", test.want, out.String())
			})
		})
	}
}

func TestFilesAreNotTerminals(t *testing.T) {
	file := installtest.OrPanic(os.Create(filepath.Join(t.TempDir(), "log")))
	defer file.Close()
	for _, out := range []io.Writer{&strings.Builder{}, file} {
		installtest.Same(t, fmt.Sprintf("%T is handled as a terminal", out), false, NewProgressLine(output.New(out)).terminal)
	}
}
