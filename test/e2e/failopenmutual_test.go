package e2e

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Two operators intercept the pods of each other, and lose all their pods under load: neither can return. One webhook may open, so
// both return without an action of any person. The other webhook stays as it is. The audit lists the load that passed.
func TestOperatorsThatKeepEachOtherFromReturning(t *testing.T) {
	t.Parallel()
	opens, other := newBareEnv(t), newBareEnv(t)
	opens.interceptsPodsOf(other, map[string]string{wellknown.AnnotationFailOpenAfter: "30s", wellknown.AnnotationFailOpenAllAfter: "30s"})
	other.interceptsPodsOf(opens, nil)
	w := startWriter(other)
	w.eventually("the webhook refuses objects", func() (bool, any) { return w.count(refused) > 5, w.outcomes() })
	both := []*env{opens, other}
	for _, e := range both {
		scale(e, "hook", 0)
	}
	for _, e := range both {
		e.eventually("there are no pods", func() (bool, any) { pods := len(e.pods()); return pods == 0, pods })
	}
	for _, e := range both {
		scale(e, "hook", 2)
	}
	for _, e := range both {
		e.eventually("no pod can be created", func() (bool, any) {
			status := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook").Status
			return isRefused(status), status
		})
	}
	for _, e := range both {
		e.eventually("the pods have returned", func() (bool, any) {
			status := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook").Status
			return status.ReadyReplicas == 2, status
		})
	}
	opens.eventually("the webhook is closed", func() (bool, any) { f := failOpenOf(opens); return f != nil && !f.IsOpen(), f })
	before := w.count(refused)
	w.eventually("the webhook refuses objects again", func() (bool, any) { return w.count(refused) > before+5, w.outcomes() })
	w.end()
	passed := w.names(func(o written) bool { return o.outcome == stored && o.denied })
	if len(passed) == 0 {
		t.Errorf("nothing passed: %s", w.outcomes())
	}
	hasAll(t, opens.audits().of(other, func(audit.Entry) bool { return true }), passed)
	openings := failOpenOf(opens).Openings
	installtest.Same(t, "the number of openings", 1, len(openings))
	installtest.Same(t, "why it closed", managerv1alpha1.ClosedServed, openings[0].ClosedBy)
	installtest.Same(t, "the record of the webhook that must not open", nil, failOpenOf(other))
	for _, e := range both {
		e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
		installtest.Same(t, "failurePolicy", admissionregistrationv1.Fail, *e.registration().Webhooks[0].FailurePolicy)
	}
}

// isRefused reports whether the creation of pods is refused, of all of them.
func isRefused(status appsv1.DeploymentStatus) bool {
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure {
			return c.Status == corev1.ConditionTrue && status.Replicas == 0
		}
	}
	return false
}

// interceptsPodsOf installs an operator whose webhook reviews the creation of pods and ConfigMaps in the Namespace of another one.
func (e *env) interceptsPodsOf(other *env, annotations map[string]string) {
	e.Helper()
	kube.Create(e, olmClient.OperatorGroups(e.namespace), &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{other.namespace}},
	})
	csv := hookCSV("hook.v1", server("hook"))
	csv.Annotations = annotations
	csv.Spec.InstallModes[0].Type = operatorsv1alpha1.InstallModeTypeSingleNamespace
	w := &csv.Spec.WebhookDefinitions[0]
	w.TimeoutSeconds = new(int32(2))
	w.Rules = []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{""}, []string{"pods", "configmaps"})}
	e.create(csv)
	e.succeeds("hook.v1")
}
