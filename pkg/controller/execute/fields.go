package execute

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// recordFields records a write of fields. The next decision has the ClusterServiceVersion that the API
// server returned.
func (e *Executor) recordFields(k queue.Key, s *gather.Snapshot, step rollout.Step, written drift.Object) {
	s.Patched[step.Key()] = true
	e.Contested.Wrote(records.FieldObject{Title: step.Key(), UID: written.GetUID()}, step.Fields, e.Now())
	csv, ok := written.(*operatorsv1alpha1.ClusterServiceVersion)
	if !ok {
		return
	}
	e.Writes.Add(k, informers.Write{Object: csv, At: e.Now()})
	if reverted := revertedMetadata(step.Object, csv); len(reverted) > 0 {
		e.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.EventNotMarked, drift.RevertedByAdmission(reverted, step.Kind()))
	}
	informers.DropProse(csv) // as in the caches
	s.CSV = csv
}

// revertedMetadata returns the finalizers and annotations that admission removed or changed.
func revertedMetadata(desired, written drift.Object) []string {
	var reverted []string
	for name, value := range desired.GetAnnotations() {
		if written.GetAnnotations()[name] != value {
			reverted = append(reverted, records.AnnotationField(name))
		}
	}
	if !slices.Equal(desired.GetFinalizers(), written.GetFinalizers()) {
		reverted = append(reverted, "metadata.finalizers")
	}
	slices.Sort(reverted)
	return reverted
}

// reportNotLifted emits an event for each permission that is not lifted.
func (e *Executor) reportNotLifted(s *gather.Snapshot) {
	for _, key := range slices.Sorted(maps.Keys(s.NotLifted)) {
		e.Events.Event(s.CSV, corev1.EventTypeWarning, managerv1alpha1.EventPermissionsNotLifted, s.NotLifted[key])
	}
}
