package host

import (
	"fmt"
	"io"
	"time"
)

// steps reports what has been done, and how long after the beginning.
type steps struct {
	out   io.Writer
	start time.Time
}

func newSteps(out io.Writer) steps {
	return steps{out: out, start: time.Now()}
}

func (s steps) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}
