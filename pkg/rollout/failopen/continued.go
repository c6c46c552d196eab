package failopen

import (
	"maps"
	"slices"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Continued returns the record of a webhook that two versions have recorded. The later one decides about openings that both
// have. Each of them can be nil, and remains unchanged.
func Continued(earlier, later *managerv1alpha1.FailOpen) *managerv1alpha1.FailOpen {
	switch {
	case later == nil:
		return earlier.DeepCopy()
	case earlier == nil:
		return later.DeepCopy()
	}
	byFrom := map[int64]managerv1alpha1.Opening{}
	for _, o := range slices.Concat(earlier.Openings, later.Openings) {
		byFrom[o.From.Unix()] = *o.DeepCopy()
	}
	all := slices.Collect(maps.Values(byFrom))
	oldestFirst(all)
	record := later.DeepCopy()
	record.Openings = all[max(0, len(all)-mostOpenings):]
	record.OpenSeconds = max(record.OpenSeconds, earlier.OpenSeconds)
	if before := earlier.LastServedTime; record.LastServedTime == nil || before != nil && record.LastServedTime.Before(before) {
		record.LastServedTime = before.DeepCopy()
	}
	return record
}
