package execute

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// record is for the next decisions, and for reconciliations before the caches show the write.
func (r *run) record(step rollout.Step, written drift.Object) {
	now := r.Now()
	_, dynamic := written.(*unstructured.Unstructured)
	switch {
	case dynamic: // other caches show it: at worst the next reconciliation repeats it
		r.executed[step.Key()] = step.Verb
	case step.Fields != nil:
		r.recordFields(step, written)
	default:
		r.Writes.Add(r.key, informers.Write{Object: written, Changed: step.Live != nil, Deleted: step.Verb == rollout.Delete, At: now})
	}
	if step.Verb == rollout.Create && drift.IsRegistration(written) {
		r.CreationTimes.Add(written, now)
	}
	if step.Verb == rollout.ResyncVolumes && written != step.Object { // a conflict returns the given object
		r.FieldContests.Resynced(step.Object.(*corev1.Pod), written.(*corev1.Pod), now)
	}
	result := decide.Written{Step: step, Object: written, At: now}
	if step.Verb != rollout.Delete && step.Desired != nil {
		result.Write = drift.WriteOf(step.Desired, written)
	}
	if _, isRole := step.Object.(*rbacv1.Role); isRole {
		r.changedRoles[step.Key()] = result.Write.RefusesGrant()
	}
	r.recordRepair(result)
	r.learn(result)
}

// recordFields replaces the ClusterServiceVersion by the one that the API server returned.
func (r *run) recordFields(step rollout.Step, written drift.Object) {
	r.FieldContests.Wrote(records.FieldObject{Title: step.Key(), UID: written.GetUID()}, step.Fields, r.Now())
	csv, ok := written.(*operatorsv1alpha1.ClusterServiceVersion)
	if !ok {
		return
	}
	r.Writes.Add(r.key, informers.Write{Object: csv, At: r.Now()})
	if reverted := revertedMetadata(step.Object, csv); len(reverted) > 0 {
		r.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.EventNotMarked, drift.RevertedByAdmission(reverted, step.Kind()))
	}
	informers.TrimCSV(csv) // as in the caches
	r.csv = csv
}

// recordRepair counts a repair if another client, or admission where it must not, reverted the previous write.
func (r *run) recordRepair(result decide.Written) {
	step, csv, object := result.Step, records.NameOf(r.csv), result.Step.Key()
	switch {
	case step.Verb == rollout.Delete:
		r.Repairs.Deleted(csv, object)
	case step.Desired != nil:
		r.Repairs.Wrote(csv, object, result.Write)
		if change, refused := result.Write.Refused(); refused {
			r.Repairs.Repaired(csv, object, change, result.At)
			return
		}
	}
	if step.IsRepair(r.status, r.facts.Observed.Contests) {
		r.Repairs.Repaired(csv, object, step.Drift, result.At)
	}
}

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

func (r *run) reportNotLifted(reasons map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		r.Events.Event(r.csv, corev1.EventTypeWarning, managerv1alpha1.EventPermissionsNotLifted, reasons[key])
	}
}
