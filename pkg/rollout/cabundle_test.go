package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				if diff := cmp.Diff(test.want, stepsOf(c.reconcile())); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				if repeated := c.reconcile(); len(repeated.Steps) > 0 {
					t.Errorf("the next reconciliation: %q", stepsOf(repeated))
				}
			})
		}
	}
	for way, put := range ways {
		c := installed(t, webhookOf("manager"))
		put(c)
		c.Secrets["manager"] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-service-cert", ResourceVersion: "1"}}
		c.ResyncPods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-0"}}}
		plan := c.next()
		if diff := cmp.Diff([]string{"update Secret shop/manager-service-cert", "resync Pod shop/manager-0"}, stepsOf(plan)); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", way, diff)
		}
		if plan.Status.Deployments[0].Certificate == nil {
			t.Errorf("%s: the status has no certificate", way)
		}
	}
}
