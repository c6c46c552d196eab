package integration

import (
	"bytes"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// An edit leaves out a conversion that an object needs. The Deployment that converts, its Service, its certificate and
// the caBundle are maintained until the conversion ends.
func TestRemovedConversion(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "hoists", "v1", "v2")
	e.manage()
	newObject(e, crd)
	e.install(converting("operator.v1", crd.Name))
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions, c.Spec.CustomResourceDefinitions.Owned[0].Version = nil, "v2"
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{deploymentSpec("other")}
	})
	e.eventually("the condition reports that the conversion is in use", func() (bool, any) {
		d, condition := e.deployment("other"), meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionConversionInUse)
		return d != nil && condition != nil, condition
	})

	services, secrets := e.kube.CoreV1().Services(e.namespace), e.kube.CoreV1().Secrets(e.namespace)
	e.must(services.Delete(e.ctx, "server-service", metav1.DeleteOptions{}))
	awaitObject(e, services, "server-service")
	lost := e.servingCA()
	e.must(secrets.Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	e.eventually("there is another certificate, and the definition trusts it alone", func() (bool, any) {
		ca, trusted := e.servingCA(), conversion(e, crd.Name).Webhook.ClientConfig.CABundle
		return len(ca) > 0 && !bytes.Equal(ca, lost) && bytes.Equal(ca, trusted), string(trusted)
	})
	if e.deployment("server") == nil {
		t.Fatal("the Deployment that converts is deleted")
	}

	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	e.eventually("the conversion ends, and its Deployment is deleted", func() (bool, any) {
		conversion, d := conversion(e, crd.Name), e.deployment("server")
		return conversion.Strategy == apiextensionsv1.NoneConverter && d == nil, conversion.Strategy
	})
}
