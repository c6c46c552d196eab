package olm

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// An operator that is not upgradeable delays the upgrade that a catalog brings, until it is.
func TestOperatorThatIsNotUpgradeable(t *testing.T) {
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)

	e.isUpgradeable(v1.Name(), metav1.ConditionFalse)
	e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
	e.reaches(v2.Name(), operatorsv1alpha1.CSVPhasePending)
	e.eventually("the new version reports why it waits", func() (bool, any) {
		status := kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), v2.Name()).Status
		message := csvstatus.Explained(status)
		return status.Reason == operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable && strings.Contains(message, "objects are converted"), message
	})
	load.GoesOn(o.answer)

	e.isUpgradeable(v1.Name(), metav1.ConditionTrue)
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
}

// isUpgradeable writes what an operator reports.
func (e *env) isUpgradeable(csv string, status metav1.ConditionStatus) {
	e.Helper()
	condition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": operatorsv2.GroupVersion.String(), "kind": "OperatorCondition", "metadata": map[string]any{"name": csv},
		"spec": map[string]any{"conditions": []any{map[string]any{
			"type": operatorsv2.Upgradeable, "status": string(status), "reason": "Migration", "message": "objects are converted", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}},
	}}
	_, err := dynamicClient.Resource(operatorsv2.GroupVersion.WithResource("operatorconditions")).Namespace(e.namespace).
		Apply(e.ctx, csv, condition, metav1.ApplyOptions{FieldManager: "operator"})
	e.must(err)
}
