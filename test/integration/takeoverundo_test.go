package integration

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func (e *takeoverEnv) scale(name string, replicas int) {
	e.Helper()
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	e.follow()
}

func (e *takeoverEnv) label(csv, order string) {
	e.Helper()
	kube.Patch(e, e.olm.ClusterServiceVersions(e.namespace), csv, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, wellknown.LabelTakeover, order))
}

// returned fails if olm-operator would replace pods, or if something of the takeover is left.
func (e *takeoverEnv) returned() {
	e.Helper()
	e.is(takeover.WithOLM)
	for _, name := range []string{"operator.v1", "other.v1"} {
		acceptedByOLM(e.env, name)
		same(e.T, "the label of "+name, e.get(name).Labels[wellknown.LabelTakeover], "")
	}
}

// What is converged is given back, although the manager stopped, run was interrupted, and an operator without webhooks has
// no WebhookRollout.
func TestTakeoverUndoAfterTheManagerStopped(t *testing.T) {
	e := newTakeoverEnv(t)
	e.completes(runCommand...)
	e.completes(convergeCommand...)
	e.is(takeover.Converged)
	pods := e.pods()
	e.scale(managerName, 0)
	e.must(e.olm.WebhookRollouts(e.namespace).Delete(e.ctx, "other.v1", metav1.DeleteOptions{}))
	e.is(takeover.Converged)
	e.interrupted(1, runCommand...)
	e.completes(undoCommand...)
	e.returned()
	pods.stay(e, "undo")
}

// The label given-back, and a value that the manager does not know, do not end a takeover.
func TestTakeoverUndoOfWrongLabels(t *testing.T) {
	e := newTakeoverEnv(t)
	e.completes(runCommand...)
	e.label("operator.v1", wellknown.TakeoverConverge)
	takeoverIs(e.env, managerv1alpha1.TakeoverConverged)
	e.label("operator.v1", wellknown.TakeoverGivenBack)
	e.eventually("the report names the next step", func() (bool, any) {
		status := e.rollout("operator.v1").Takeover
		return status != nil && status.Form == managerv1alpha1.TakeoverConverged && status.Message != "", status
	})
	e.label("other.v1", "later")
	e.eventually("the manager ignores the value", func() (bool, any) {
		labels := e.deployment("plain").Spec.Template.Labels
		return labels[wellknown.LabelCSV] == "other.v1", labels
	})
	pods := e.pods()
	e.completes(undoCommand...)
	e.returned()
	pods.stay(e, "undo")
}

// undo changes nothing while olm-operator runs, which another client started.
func TestTakeoverUndoWhileOLMRuns(t *testing.T) {
	e := newTakeoverEnv(t)
	e.completes(runCommand...)
	e.completes(convergeCommand...)
	pods := e.pods()
	e.scale(olmOperator, 1)
	p := proxy(e.env, nil)
	_, err := e.run(p, undoCommand...)
	same(t, "the exit code", exitcode.Of(e.ctx, err), 2)
	installtest.Contains(t, err.Error(), "kubectl scale -n "+e.namespace+" deployment/olm-operator --replicas=0", e.namespace+"/operator.v1")
	none(t, "writes", changes(p))
	e.scale(olmOperator, 0)
	e.completes(undoCommand...)
	e.returned()
	pods.stay(e, "undo")
}

// An operator that is not Succeeded does not keep the others from olm-operator, if it is accepted.
func TestTakeoverUndoOfAFailedOperator(t *testing.T) {
	e := newTakeoverEnv(t)
	e.completes(runCommand...)
	e.edit("other.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "absents.example.com", Version: "v1", Kind: "Absent"}}
	})
	failed := func() bool { return e.get("other.v1").Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded }
	e.eventually("the operator fails", func() (bool, any) { return failed(), nil })
	writes := e.completes(slices.Concat(undoCommand, []string{"--accept", e.namespace + "/other.v1"})...)
	same(t, "the operator fails", failed(), true)
	same(t, "the orders of the failed operator", installtest.Count(writes, func(w string) bool {
		return w == "PATCH "+pathOf(takeover.Object{Kind: takeover.KindCSV, Namespace: e.namespace, Name: "other.v1"})
	}), 3)
	e.is(takeover.WithOLM)
	acceptedByOLM(e.env, "operator.v1")
	same(t, "the label of the failed operator", e.get("other.v1").Labels[wellknown.LabelTakeover], "")
}

// olm-operator requires the annotations of a CSV in its pods. undo does not restart pods for that before it is accepted.
func TestTakeoverUndoAfterAnAnnotation(t *testing.T) {
	for name, annotation := range map[string]string{"the manager's": wellknown.AnnotationProbe, "kubectl apply": corev1.LastAppliedConfigAnnotation} {
		t.Run(name, func(t *testing.T) {
			e := newTakeoverEnv(t)
			e.completes(runCommand...)
			pods := e.pods()
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Annotations[annotation] = wellknown.ProbeHandshake })
			e.running.rests()
			p := proxy(e.env, nil)
			_, err := e.run(p, undoCommand...)
			same(t, "the exit code", exitcode.Of(e.ctx, err), 2)
			installtest.Contains(t, err.Error(), e.namespace+"/server ("+annotation+")", "--accept-restarts")
			none(t, "writes", changes(p))
			pods.stay(e, "the refused undo")
			e.completes(slices.Concat(undoCommand, []string{"--accept-restarts"})...)
			e.returned()
		})
	}
}
