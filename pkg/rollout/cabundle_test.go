package rollout

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Without a scope, with an invalid description, and while the deletion is blocked, only the
// caBundle and the certificate are updated.
func TestCABundleOnly(t *testing.T) {
	const registration = "update ValidatingWebhookConfiguration v.manager.example.com: webhooks.clientConfig.caBundle"
	ways := map[string]func(*cluster){
		"no scope": obstacles["no scope"].put, "an invalid description": obstacles["an invalid description"].put, "blocked deletion": func(c *cluster) { c.DeletionBlocked = true },
	}
	for name, test := range map[string]struct {
		happens func(*cluster)
		want    []string
	}{
		"no change": {func(*cluster) {}, nil},
		"renewed CA": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, another rule": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{{}}
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, another Deployment": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "absent"
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, removed webhook": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = nil
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"a newer generation is registered": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("previous ca"), 0
		}, nil},
		"restart required":     {func(c *cluster) { c.trust.RestartedFor = "2" }, []string{"update Deployment shop/manager: spec.template.metadata.annotations"}},
		"another image":        {func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" }, nil},
		"deleted registration": {func(c *cluster) { c.remove(c.validating("manager")) }, nil},
		"deleted Deployment":   {func(c *cluster) { delete(c.Observed.Deployments, "manager") }, nil},
		"deleted Service":      {func(c *cluster) { delete(c.Observed.Services, "manager-service") }, nil},
	} {
		for way, put := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				c := installedWithWorker(t)
				put(c)
				c.reconcile()
				test.happens(c)
				installtest.Same(t, "steps", test.want, stepsOf(c.reconcile()))
				installtest.Same(t, "the next reconciliation", []string(nil), stepsOf(c.reconcile()))
			})
		}
	}
}

// The next certificate is stored, and pods are re-synced.
func TestCertificateOfABlockedVersion(t *testing.T) {
	for way, put := range map[string]func(*cluster){
		"no scope": obstacles["no scope"].put, "an invalid description": obstacles["an invalid description"].put,
		"a requirement": obstacles["a requirement"].put, "blocked deletion": func(c *cluster) { c.DeletionBlocked = true },
	} {
		c := installed(t, webhookOf("manager"))
		put(c)
		c.Secrets["manager"] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-service-cert", ResourceVersion: "1"}}
		c.ResyncPods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-0"}}}
		plan := c.next()
		installtest.Same(t, way+": steps", []string{"update Secret shop/manager-service-cert", "resync Pod shop/manager-0"}, stepsOf(plan))
		if plan.Status.Deployments[0].Certificate == nil {
			t.Errorf("%s: the status has no certificate", way)
		}
	}
}
