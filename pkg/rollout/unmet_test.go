package rollout

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// While a requirement is not met, registered webhooks are maintained. Other changes of the
// ClusterServiceVersion wait.
func TestUnmetRequirementKeepsWebhooks(t *testing.T) {
	const (
		configuration = "ValidatingWebhookConfiguration v.manager.example.com"
		bundle        = `webhooks[name="v.manager.example.com"].clientConfig.caBundle`
		generation    = `metadata.annotations.olm-webhook-manager.io/certificate-generation`
	)
	renew := func(c *cluster) { c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2 }
	anotherRule := func(c *cluster) {
		c.CSV.Spec.WebhookDefinitions[0].Rules = append([]admissionregistrationv1.RuleWithOperations{}, c.CSV.Spec.WebhookDefinitions[0].Rules...)
		c.CSV.Spec.WebhookDefinitions[0].Rules[0].Resources = []string{"invoices"}
	}
	anotherImage := func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" }
	for name, test := range map[string]struct {
		happens func(*cluster)
		want    []string
	}{
		"no change": {func(*cluster) {}, nil},
		"edited registration": {func(c *cluster) {
			c.validating("manager").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		}, []string{"apply " + configuration + `: webhooks[name="v.manager.example.com"].failurePolicy`}},
		"deleted registration":     {func(c *cluster) { c.remove(c.validating("manager")) }, []string{"create " + configuration}},
		"deleted Service":          {func(c *cluster) { delete(c.Observed.Services, "manager-service") }, []string{"create Service shop/manager-service"}},
		"deleted Deployment":       {func(c *cluster) { delete(c.Observed.Deployments, "manager") }, []string{"create Deployment shop/manager"}},
		"deleted other Deployment": {func(c *cluster) { delete(c.Observed.Deployments, "worker") }, nil},
		"renewed CA":               {renew, []string{"apply " + configuration + ": " + generation + ", " + bundle}},
		"restart required":         {func(c *cluster) { anotherImage(c); c.trust.RestartedFor = "2" }, []string{"update Deployment shop/manager: spec.template.metadata.annotations"}},
		"another image":            {anotherImage, nil},
		"another rule":             {anotherRule, nil},
		"another rule, renewed CA": {func(c *cluster) { anotherRule(c); renew(c) }, []string{"update " + configuration + ": webhooks.clientConfig.caBundle"}},
		"another rule, trusted CA": {func(c *cluster) { anotherRule(c); c.trust.Generation = 2 }, []string{"update " + configuration + ": webhooks.clientConfig.caBundle"}},
		"another Deployment": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "absent"
			renew(c)
		}, []string{"apply " + configuration + ": " + generation + ", " + bundle}},
		"removed webhook, renewed CA": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = nil
			renew(c)
		}, []string{"update " + configuration + ": webhooks.clientConfig.caBundle"}},
		"another webhook": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("worker"))
		}, nil},
		"removed webhook": {func(c *cluster) { c.CSV.Spec.WebhookDefinitions = nil }, nil},
		"no scope, too": {func(c *cluster) {
			obstacles["no scope"].put(c)
			c.remove(c.validating("manager"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := installedWithWorker(t)
			obstacles["a requirement"].put(c)
			c.reconcile()
			test.happens(c)
			image := c.image("manager")
			installtest.Same(t, "steps", test.want, stepsOf(c.reconcile()))
			installtest.Same(t, "the next reconciliation", []string(nil), stepsOf(c.reconcile()))
			if now := c.image("manager"); image != "" && now != image {
				t.Errorf("the Deployment was rolled out with %s", now)
			}
		})
	}
}

func installedWithWorker(t *testing.T) *cluster {
	c := clusterWith(t, webhookOf("manager"))
	c.declare("worker")
	return c.succeed()
}

func (c *cluster) image(deployment string) string {
	if d := c.Observed.Deployments[deployment]; d != nil {
		return d.Spec.Template.Spec.Containers[0].Image
	}
	return ""
}
