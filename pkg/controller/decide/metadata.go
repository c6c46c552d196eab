package decide

import (
	"maps"
	"slices"
	"strings"

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

// metadataSteps returns the write of the finalizer and of the annotations of the scope that the
// ClusterServiceVersion lacks. Nothing is created without the finalizer.
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
	for field, value := range lacking {
		if field == finalizersField {
			desired.Finalizers = append(desired.Finalizers, value)
			continue
		}
		if desired.Annotations == nil {
			desired.Annotations = map[string]string{}
		}
		desired.Annotations[strings.TrimPrefix(field, annotationsPrefix)] = value
	}
	return []rollout.Step{patch(&desired, d.CSV, lacking)}
}

// lackingMetadata returns the metadata that the ClusterServiceVersion lacks, with its values.
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

// hasScope reports whether there is a scope, even if it is not supported or another operator has
// precedence in it.
func (d *decision) hasScope() bool {
	return d.Failure == nil || d.Failure.Reason == operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup || scope.Yields(d.Failure.Reason)
}

// finalizerProblem returns why the ClusterServiceVersion does not have the finalizer. An installation
// that has started continues without it, because API servers call its webhooks.
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

// carriedOut reports whether a step of an early stage was carried out or refused in this
// reconciliation. It is not repeated before the next one.
func (d *decision) carriedOut(key string) bool {
	return d.patched[key] || d.Observed.Refused[key] != ""
}
