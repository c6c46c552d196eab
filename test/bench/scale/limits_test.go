package scale

import (
	"slices"
	"testing"
	"time"
)

// What a measurement may come to at most, with as many ClusterServiceVersions as there are here.
const (
	mostMemory = 150 << 20 // of the process
	mostFloors = 1.5
	mostGrowth = 1.5                    // of what an installation takes of the processor, with Namespaces
	mostTenth  = 2.0                    // the same, with ten times as many ClusterServiceVersions
	mostRepair = 200 * time.Millisecond // for 99 of 100

	// Of copies of ClusterServiceVersions.
	mostOfCopy         = 2 << 10 // bytes of memory
	mostOfDeletedCopy  = 512     // bytes of memory that it leaves
	mostRequestsOfCopy = 2.1     // it is created, and gets its status
	mostWritesOfEdit   = 2.1     // for each copy: spec and status
	mostFloorsOfEdit   = 3.0     // the floor has creations, which cost less than updates, and an edit waits for a second
	mostForNamespace   = 2 * time.Second
)

func staysBelow(b *testing.B, limit, measured float64, what, unit string) {
	b.Helper()
	if measured >= limit {
		b.Errorf("%s: %.2f %s, and is to stay below %.2f", what, measured, unit, limit)
	}
}

// installedWithin reports installations of one kind, each in floors, and holds the middle one
// to the limit: one alone shows as much about the machine as about the manager.
func installedWithin(b *testing.B, floors []float64) {
	b.Helper()
	sorted := slices.Sorted(slices.Values(floors))
	middle := sorted[len(sorted)/2]
	b.Logf("of the floor: %.2f", floors)
	b.ReportMetric(middle, "x-floor")
	staysBelow(b, mostFloors, middle, "installed in", "floors")
}
