package decide

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const (
	finalizersField   = "metadata.finalizers"
	annotationsPrefix = "metadata.annotations."
)

// metadataSteps precedes all others: nothing is created without the finalizer.
func (d *decision) metadataSteps() []rollout.Step {
	key := drift.KeyOf(d.CSV)
	lacking := d.lackingMetadata()
	contest := d.FieldContests[key]
	if contest.Repairs.Contested() {
		d.Observed.Contests[key] = contest.Repairs
	}
	held, _ := contest.Held(lacking, d.now)
	maps.DeleteFunc(lacking, func(field, _ string) bool { return slices.Contains(held, field) })
	if len(lacking) == 0 || d.Deleting || d.carriedOut(key) {
		return nil
	}
	desired := *d.CSV
	desired.ObjectMeta = *d.CSV.ObjectMeta.DeepCopy()
	desired.Annotations = labels.Merge(desired.Annotations, nil)
	for field, value := range lacking {
		if field == finalizersField {
			desired.Finalizers = append(desired.Finalizers, value)
			continue
		}
		desired.Annotations[strings.TrimPrefix(field, annotationsPrefix)] = value
	}
	return []rollout.Step{patch(&desired, d.CSV, lacking)}
}

func (d *decision) lackingMetadata() map[string]string {
	lacking := map[string]string{}
	if !d.hasFinalizer() {
		lacking[finalizersField] = wellknown.FinalizerCSV
	}
	if !d.hasScope() {
		return lacking
	}
	for name, value := range d.Scope.Annotations() {
		if current, ok := d.CSV.Annotations[name]; !ok || current != value {
			lacking[annotationsPrefix+name] = value
		}
	}
	return lacking
}

func (d *decision) hasFinalizer() bool {
	return slices.Contains(d.CSV.Finalizers, wellknown.FinalizerCSV)
}

// hasScope is true also for a scope that is not supported, or in which another operator has precedence.
func (d *decision) hasScope() bool {
	return d.Failure == nil || d.Failure.Reason == operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup || scope.Yields(d.Failure.Reason)
}

// An installation that has started continues without the finalizer: API servers call its webhooks.
func (d *decision) finalizerProblem() string {
	if d.hasFinalizer() || d.Upgrade.Started {
		return ""
	}
	key := drift.KeyOf(d.CSV)
	held, _ := d.FieldContests[key].Held(map[string]string{finalizersField: wellknown.FinalizerCSV}, d.now)
	switch {
	case d.Observed.Refused[key] != "":
		return d.Observed.Refused[key]
	case len(held) > 0:
		return d.FieldContests[key].Repairs.Message(key, d.now)
	case d.patched[key]:
		return drift.RevertedByAdmission([]string{finalizersField}, operatorsv1alpha1.ClusterServiceVersionKind)
	default:
		return ""
	}
}

// carriedOut includes refused steps, which are not repeated in the same reconciliation.
func (d *decision) carriedOut(key string) bool {
	return d.patched[key] || d.Observed.Refused[key] != ""
}
