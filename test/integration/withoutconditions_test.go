package integration

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A cluster without the kind OperatorCondition has operators without one, and those get it when
// the kind comes. The definition is away from all tests meanwhile: none runs next to this one.
func TestWithoutOperatorConditions(t *testing.T) {
	e := newEnv(t)
	const name, file = "operatorconditions.operators.coreos.com", "../../manifests/crds/olm/operators.coreos.com_operatorconditions.yaml"
	restore := func() { e.must(cluster.InstallCRDs(context.Background(), file)) }
	e.Cleanup(restore)
	crds := e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	e.must(crds.Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.must(kube.AwaitRemoval(e.ctx, crds, name))
	e.group("og", allNamespaces)
	e.runDeployments()
	m := runOperator(e)
	roles := e.kube.RbacV1().Roles(e.namespace)
	if _, err := roles.Get(e.ctx, "operator.v1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Role for an OperatorCondition that there cannot be: %v", err)
	}
	m.settles("operator.v1")

	restore()
	e.eventually("it has an OperatorCondition, and the Role for it", func() (bool, any) {
		_, err := e.any.Resource(derived[5]).Namespace(e.namespace).Get(e.ctx, "operator.v1", metav1.GetOptions{})
		if err == nil {
			_, err = roles.Get(e.ctx, "operator.v1", metav1.GetOptions{})
		}
		return err == nil, err
	})
	e.uninstall("operator.v1")
	leavesNothing(e)
}
