package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// A manager that goes leaves no webhook that nobody looks after, and nothing that waits
// for it; but a conversion that objects need stays until it is said what becomes of them.
// The test is not parallel: a farewell is for the whole cluster.
func TestFarewell(t *testing.T) {
	e := newEnv(t)
	crd := e.newCRD("farewells", "v1", "v2")
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments()
	m := e.manage(func(o *controller.Options) { o.LiftRoles = true })
	object := e.newObject(crd)
	e.install(converting("operator.v1", crd.Name))
	e.serviceAccount(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	role := e.namespace + "-reader" // there is one of the cluster for all tests
	e.bindRoleCalled(role)
	e.install(asking(csv("other.v1", "other"), readPods))
	expect(t, e.lifted(), "ClusterRole /"+role, "ClusterRoleBinding /"+role)
	granted := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-granted", Labels: install.OwnerLabels(e.get("other.v1"))}}
	_, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, granted, metav1.CreateOptions{})
	e.must(err)
	m.stop()

	clients, err := controller.NewClients(cluster.Config())
	e.must(err)
	e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "server-service", metav1.DeleteOptions{})) // the definition names it still
	err = controller.Farewell(e.ctx, clients, logger())
	for _, said := range []string{
		"operator.v1: without the conversion webhook objects would lose fields: " + crd.Name + " has objects", vocabulary.AnnotationForceConversion + "=true", "then run the command again",
	} {
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("the error does not say %q: %v", said, err)
		}
	}
	e.registersNothing()
	if finalizers := e.get("other.v1").Finalizers; len(finalizers) > 0 {
		t.Errorf("other.v1 has the finalizers %v", finalizers)
	}
	expect(t, e.lifted(), "ClusterRole /"+granted.Name) // the installer's
	if e.conversion(crd.Name).Strategy != apiextensionsv1.WebhookConverter {
		t.Error("the conversion is gone although there are objects")
	}

	e.must(e.objects(crd).Delete(e.ctx, object, metav1.DeleteOptions{}))
	e.must(controller.Farewell(e.ctx, clients, logger()))
	if e.conversion(crd.Name).Strategy != apiextensionsv1.NoneConverter {
		t.Error("the conversion stays although there are no objects")
	}
	if kept := e.keptBy(crd); len(kept) > 0 {
		t.Errorf("nobody would remove what the definition still keeps: %v", kindsAndNames(kept))
	}
	e.uninstall("operator.v1")
	e.uninstall("other.v1")
}
