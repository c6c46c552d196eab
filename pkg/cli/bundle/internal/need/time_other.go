//go:build !unix

package need

import (
	"testing"
	"time"
)

var start = time.Now()

// processorTime returns the time that passed: another system reports the processor time in a form of its own.
func processorTime(testing.TB) time.Duration { return time.Since(start) }
