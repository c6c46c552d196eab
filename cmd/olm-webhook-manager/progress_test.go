package main

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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

// In a terminal a line gives way to the next, whole, and what follows stands on a line of its own,
// also where the last one was not final. A log gets whole lines. Neither gets every one.
func TestProgressLine(t *testing.T) {
	rewritten := func(done, all int, final bool) storage.Progress {
		return storage.Progress{Line: fmt.Sprintf("rewritten %d of %d", done, all), Done: done, All: all, Final: final}
	}
	full, half, none := strings.Repeat("#", barWidth), strings.Repeat("#", barWidth/2)+strings.Repeat(".", barWidth/2), strings.Repeat(".", barWidth)
	for name, test := range map[string]struct {
		terminal bool
		pause    time.Duration // between two
		told     []storage.Progress
		want     string
	}{
		"a bar": {true, redrawEvery, []storage.Progress{rewritten(0, 1000, false), rewritten(500, 1000, false), rewritten(1000, 1000, true)},
			"[" + none + "] rewritten 0 of 1000\r[" + half + "] rewritten 500 of 1000\r[" + full + "] rewritten 1000 of 1000\n"},
		"the end of it is not told": {true, redrawEvery, []storage.Progress{rewritten(500, 1000, false)}, "[" + half + "] rewritten 500 of 1000\n"},
		"one that is shorter": {true, redrawEvery, []storage.Progress{{Line: "the cluster rewrites 9 objects: 10s"}, {Line: "it has", Final: true}},
			"the cluster rewrites 9 objects: 10s\rit has                             \n"},
		"too many to see": {true, redrawEvery / 2, []storage.Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)},
			"[" + none + "] rewritten 0 of 2\r[" + full + "] rewritten 2 of 2\n"},
		"a log":           {false, logEvery, []storage.Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)}, "rewritten 0 of 2\nrewritten 1 of 2\nrewritten 2 of 2\n"},
		"too many to log": {false, redrawEvery, []storage.Progress{rewritten(0, 2, false), rewritten(1, 2, false), rewritten(2, 2, true)}, "rewritten 0 of 2\nrewritten 2 of 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := &progressLine{out: output.New(&out), terminal: test.terminal}
				for _, progress := range test.told {
					p.tell(progress)
					<-time.After(test.pause)
				}
				p.end()
				if out.String() != test.want {
					t.Errorf("printed %q, want %q", out.String(), test.want)
				}
			})
		})
	}
}

// What is no terminal is known as none.
func TestNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, out := range []io.Writer{&strings.Builder{}, file} {
		if newProgressLine(output.New(out)).terminal {
			t.Errorf("%T is taken for a terminal", out)
		}
	}
}
