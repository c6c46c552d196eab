package manager

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// roomy is how large the heap, in bytes, may become before garbage is collected more often than Go does by default.
// With many operators, memory is then not half garbage. A limit would collect all the time once live data comes near it.
const roomy = 60 << 20

// collectGarbage keeps the heap below roomy while possible, until the context ends, unless GOGC is set.
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
