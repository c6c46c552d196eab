package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// garbage is how much of it may pile up before it is collected, as long as that is between a
// tenth of what is in use and as much again, Go's default. With a few operators to look
// after, collections are seldom so; with many, memory is not half garbage. A limit would do
// the same until what is in use comes near it, and then collect all the time.
const garbage = 6 << 20

// collectGarbage keeps to that until the context ends, unless GOGC says otherwise.
func collectGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := 0
	wait.UntilWithContext(ctx, func(context.Context) {
		metrics.Read(inUse)
		if percent := gcPercent(inUse[0].Value.Uint64()); percent != current {
			debug.SetGCPercent(percent)
			current = percent
		}
	}, time.Second)
}

// gcPercent is by how much the heap may grow between two collections.
func gcPercent(inUse uint64) int {
	return int(min(max(garbage*100/max(inUse, 1), 10), 100))
}
