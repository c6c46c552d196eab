package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// While the lead changes, two managers may work at once. They reach the same state as one does, and then rest.
func TestTwoManagers(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	one, other := e.manage(), e.manage()
	e.install(bundle())
	one.looksAgain("operator.v1")
	other.looksAgain("operator.v1")
	isComplete(e, installed)
	mustTrust(e, e.servingCA())
	since := auditEnd(e)
	one.looksAgain("operator.v1")
	other.looksAgain("operator.v1")
	one.writesNothing(since)
	other.writesNothing(since)
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// A manager of all namespaces knows that no client needs the label of a group that no longer exists,
// once no webhook selects by it: at once, where none ever did.
func TestLabelOfADeletedGroup(t *testing.T) {
	e := newEnv(t)
	group := e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := e.manage(func(o *controller.Options) { o.Namespaces = nil })
	alone := neighbour(e)
	unused := alone.group("og", namespaces(e.namespace))
	carriesLabel(e, unused, []string{e.namespace}, e.namespace)
	e.must(e.olm.OperatorGroups(alone.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	carriesLabel(e, unused, nil, e.namespace)
	e.install(csv("operator.v1", "server"))
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup)
	m.looksAgain("operator.v1")
	carriesLabel(e, group, []string{e.namespace}, e.namespace)
	e.uninstall("operator.v1")
	carriesLabel(e, group, nil, e.namespace)
}
