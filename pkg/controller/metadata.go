package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// scopeKnown tells whether there is a scope, if only one that is not supported, or that
// somebody else has the better right to.
func scopeKnown(failure *scope.Failure) bool {
	return failure == nil || failure.Reason == operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup || scope.Yields(failure.Reason)
}

const finalizersField = "metadata.finalizers"

// mark puts the finalizer on the ClusterServiceVersion before anything is made for
// it, and the annotations by which it tells its scope. The pass goes on with it as it is then.
func (c *Controller) mark(ctx context.Context, k queue.Key, s *gather.Snapshot) error {
	lacks := lacking(s.CSV, s)
	object := records.CSV(s.CSV)
	held, _, why := c.contested.Held(object, lacks, c.now())
	if contest := c.contested.Of(object); contest.Contested() {
		s.Observed.Contests[object.Title] = contest
	}
	if len(held) > 0 {
		maps.DeleteFunc(lacks, func(field, _ string) bool { return slices.Contains(held, field) })
	}
	if len(lacks) > 0 {
		refusal, err := c.putMarks(ctx, k, s, lacks)
		if err != nil {
			return err
		}
		if refusal != "" {
			c.events.Event(s.CSV, corev1.EventTypeWarning, "NotMarked", refusal)
			why = refusal
		}
	}
	// What has begun goes on: its webhooks are called.
	if !slices.Contains(s.CSV.Finalizers, wellknown.FinalizerCSV) && !s.Upgrade.Started {
		s.Requirements.FinalizerProblem = why
		s.Verdict = requirements.Check(s.Requirements)
	}
	return nil
}

// putMarks writes what the ClusterServiceVersion lacks. It returns why it lacks some of it still.
func (c *Controller) putMarks(ctx context.Context, k queue.Key, s *gather.Snapshot, lacks map[string]string) (refusal string, err error) {
	marked, err := c.writeMarks(ctx, s.CSV, lacks)
	if err != nil && write.IsRefused(err) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	c.contested.Wrote(records.CSV(marked), lacks, c.now())
	c.writes.Add(k, informers.Write{Object: marked, At: c.now()})
	informers.DropProse(marked) // the pass goes on with what the caches will show, and holds no more in memory than they
	s.CSV = marked
	back := slices.Sorted(maps.Keys(lacking(marked, s)))
	back = slices.DeleteFunc(back, func(field string) bool { _, wrote := lacks[field]; return !wrote })
	if len(back) == 0 {
		return "", nil
	}
	return records.TakenBack(back, operatorsv1alpha1.ClusterServiceVersionKind), nil
}

// lacking are the fields by which a ClusterServiceVersion is marked and that it does not have, with their values.
func lacking(csv *operatorsv1alpha1.ClusterServiceVersion, s *gather.Snapshot) map[string]string {
	lacks := map[string]string{}
	if !slices.Contains(csv.Finalizers, wellknown.FinalizerCSV) {
		lacks[finalizersField] = wellknown.FinalizerCSV
	}
	if !scopeKnown(s.Failure) {
		return lacks
	}
	for name, value := range s.Scope.Annotations() {
		if current, ok := csv.Annotations[name]; !ok || current != value {
			lacks[records.AnnotationField(name)] = value
		}
	}
	return lacks
}

func (c *Controller) writeMarks(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, lacks map[string]string) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	metadata, annotations := map[string]any{"resourceVersion": csv.ResourceVersion}, map[string]string{}
	for field, value := range lacks {
		if field == finalizersField {
			metadata["finalizers"] = append(slices.Clone(csv.Finalizers), value)
			continue
		}
		annotations[strings.TrimPrefix(field, records.AnnotationField(""))] = value
	}
	metadata["annotations"] = annotations
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	return c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager})
}
