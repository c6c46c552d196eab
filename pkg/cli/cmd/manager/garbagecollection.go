package manager

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// roomy is how large the heap, in bytes, may become before garbage is collected more often than
// Go does by default, which is when there is as much of it as of what is in use. With a few
// operators to look after, collections are seldom so; with many, memory is not half garbage. A
// limit would do the same until what is in use comes near it, and then collect all the time.
const roomy = 60 << 20

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

// gcPercent is by how much the heap may grow between two collections: a tenth at least.
func gcPercent(inUse uint64) int {
	return int(min(max(roomy*100/max(inUse, 1), 110), 200)) - 100
}
