package main

import (
	"strings"
	"testing"
)

// A line gives way to the next, whole, and what follows stands on a line of its own, also
// where the last one was not final.
func TestProgressLine(t *testing.T) {
	var out strings.Builder
	p := &progressLine{out: &out}
	for _, line := range []string{"rewritten 998 of 1000", "rewritten 999 of 999"} {
		p.tell(line, false)
	}
	p.end()
	p.tell("rewritten 3 of 4", true)
	p.end()
	if want := "rewritten 998 of 1000\rrewritten 999 of 999 \nrewritten 3 of 4\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
