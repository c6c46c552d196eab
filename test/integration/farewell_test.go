package integration

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// A manager that goes leaves no webhook that nobody looks after, and nothing that waits
// for it; but a conversion that objects need stays until it is said what becomes of them.
// The test is not parallel: a farewell is for the whole cluster.
func TestFarewell(t *testing.T) {
	e := newEnv(t)
	crd := e.newCRD("farewells", "v1", "v2")
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments()
	m := e.manage()
	object := e.newObject(crd)
	e.install(converting("operator.v1", crd.Name))
	other := csv("other.v1", "other")
	e.install(other)
	m.stop()

	clients, err := controller.NewClients(cluster.Config())
	e.must(err)
	if err := controller.Farewell(e.ctx, clients, logger()); err == nil || !strings.Contains(err.Error(), "operator.v1: without the conversion webhook objects would lose fields: "+crd.Name+" has objects") {
		t.Errorf("the error does not say what is in use: %v", err)
	}
	e.registersNothing()
	if finalizers := e.get("other.v1").Finalizers; len(finalizers) > 0 {
		t.Errorf("other.v1 has the finalizers %v", finalizers)
	}
	if e.conversion(crd.Name).Strategy != apiextensionsv1.WebhookConverter {
		t.Error("the conversion is gone although there are objects")
	}

	e.must(e.objects(crd).Delete(e.ctx, object, metav1.DeleteOptions{}))
	e.must(controller.Farewell(e.ctx, clients, logger()))
	if e.conversion(crd.Name).Strategy != apiextensionsv1.NoneConverter {
		t.Error("the conversion stays although there are no objects")
	}
	e.uninstall("operator.v1")
	e.uninstall("other.v1")
}
