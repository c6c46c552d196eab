package scale

import "time"

// What a measurement may come to at most, with as many ClusterServiceVersions as there are here.
const (
	mostMemory = 150 << 20 // of the process
	mostFloors = 1.5
	mostGrowth = 1.5                    // of what an installation takes of the processor
	mostRepair = 200 * time.Millisecond // for 99 of 100
)

// staysBelow fails the benchmark when what was measured is not below its limit.
func (e *env) staysBelow(limit, measured float64, what, unit string) {
	e.Helper()
	if measured >= limit {
		e.Errorf("%s: %.2f %s, and is to stay below %.2f", what, measured, unit, limit)
	}
}
