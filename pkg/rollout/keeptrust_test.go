package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Without a scope, with a mistake, and on the way out, certificates are replaced all the
// same, and nothing else is touched.
func TestTrustIsKept(t *testing.T) {
	const registration = "update ValidatingWebhookConfiguration v.manager.example.com: webhooks.clientConfig.caBundle"
	ways := map[string]func(*cluster){
		"no scope": obstacles["no scope"].put, "a mistake": obstacles["a mistake"].put, "on the way out": func(c *cluster) { c.DeletionBlocked = true },
	}
	for name, test := range map[string]struct {
		happens func(*cluster)
		want    []string
	}{
		"nothing": {func(*cluster) {}, nil},
		"its CA is renewed": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"its CA is renewed, and another rule wanted": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{{}}
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"its CA is renewed, and another Deployment named": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "absent"
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"its CA is renewed, and it is left out": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = nil
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"another has renewed it further": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("a ca of before"), 0
		}, nil},
		"pods have to be restarted": {func(c *cluster) { c.trust.RestartedFor = "2" }, []string{"update Deployment shop/manager: spec.template.metadata.annotations"}},
		"another image is wanted":   {func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" }, nil},
		"it is taken away":          {func(c *cluster) { c.remove(c.validating("manager")) }, nil},
		"its Deployment is gone":    {func(c *cluster) { delete(c.Observed.Deployments, "manager") }, nil},
		"its Service is gone":       {func(c *cluster) { delete(c.Observed.Services, "manager-service") }, nil},
	} {
		for way, put := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				c := installedWithWorker(t)
				put(c)
				c.pass()
				test.happens(c)
				if diff := cmp.Diff(test.want, stepsOf(c.pass())); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				if again := c.pass(); len(again.Steps) > 0 {
					t.Errorf("the next pass: %q", stepsOf(again))
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
			t.Errorf("%s: the status says nothing about the certificate", way)
		}
	}
}
