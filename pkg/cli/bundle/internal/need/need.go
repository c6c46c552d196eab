// Package need is for tests: it measures what the parsers and checks of bundles need.
package need

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// What 1 MiB of a bundle may need. maxCPU is for a processor that takes referenceTime for the reference.
const (
	MaxInput      = 1 << 20
	maxMemory     = 64 << 20
	maxCPU        = 2 * time.Second
	referenceTime = 700 * time.Millisecond
)

// Limited fails the test if a function needs more memory or processor time than 1 MiB of a bundle may.
// Too long a time is measured again without measuring memory, in proportion to the time of the reference.
//
// The garbage collector first runs only when maxMemory may be live. What is allocated while it runs counts as
// live, so memory above the limit is measured again, with a collector that runs often.
func Limited(t testing.TB, do func()) {
	t.Helper()
	took, memory := measured(t, do, -1)
	if memory > maxMemory {
		took, memory = measured(t, do, 10)
	}
	if memory > maxMemory {
		t.Errorf("it needs %d MiB", memory>>20)
	}
	if took <= maxCPU {
		return
	}
	before := timed(t, reference)
	took = timed(t, do)
	slowness := max(1, float64(before+timed(t, reference))/float64(2*referenceTime))
	if allowed := time.Duration(float64(maxCPU) * slowness); took > allowed {
		t.Errorf("it takes %s of a processor, more than %s", took, allowed)
	}
}

// reference is work that depends on the processor alone.
func reference() {
	for range 5 {
		var decoded []map[string]string
		if err := yaml.Unmarshal(referenceText, &decoded); err != nil {
			panic(err)
		}
	}
}

var referenceText = func() []byte {
	var text []byte
	for i := 0; len(text) < MaxInput; i++ {
		text = fmt.Appendf(text, "- {name: a%08x}\n", i)
	}
	return text
}()

// measured collects garbage when memory has grown by so many percent; if negative, by maxMemory.
func measured(t testing.TB, do func(), percent int) (took time.Duration, memory uint64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	runtime.GC()
	if percent < 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(used() + maxMemory)))
	}
	before, ended, peak := live(), make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-ended:
				peak <- max(most, live())
				return
			}
		}
	}()
	took = timed(t, do)
	close(ended)
	return took, <-peak - before
}

func timed(t testing.TB, do func()) time.Duration {
	t.Helper()
	start := processorTime(t)
	do()
	return processorTime(t) - start
}

func live() uint64 { return sum("/gc/heap/live:bytes") }

// used is what debug.SetMemoryLimit compares with its limit, without what the heap has free.
func used() uint64 {
	return sum("/memory/classes/total:bytes") - sum("/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes")
}

func sum(names ...string) (total uint64) {
	for _, name := range names {
		sample := []metrics.Sample{{Name: name}}
		metrics.Read(sample)
		total += sample[0].Value.Uint64()
	}
	return total
}
