package rollout

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// While a requirement is not met, registered webhooks are maintained. Other changes of the ClusterServiceVersion wait.
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
	stay := func(c *cluster) {
		c.disable("v.manager.example.com")
		live, _ := c.keep("v.manager.example.com")
		live.DeletionTimestamp = new(metav1.NewTime(c.now))
	}
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
		"removed webhook, renewed CA": {func(c *cluster) { c.CSV.Spec.WebhookDefinitions = nil; renew(c) }, []string{"update " + configuration + ": webhooks.clientConfig.caBundle"}},
		"another webhook": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("worker"))
		}, nil},
		"disabled webhook, renewed CA":                        {func(c *cluster) { c.disable("v.manager.example.com"); renew(c) }, []string{"delete " + configuration}},
		"disabled webhook that a finalizer keeps, renewed CA": {func(c *cluster) { stay(c); renew(c) }, []string{"update " + configuration + ": webhooks.clientConfig.caBundle"}},
		"disabled webhook that a finalizer keeps, another Service, renewed CA": {func(c *cluster) {
			stay(c)
			c.validating("manager").Webhooks[0].ClientConfig.Service.Name = "other"
			renew(c)
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

// If an edit is not applied, a webhook is maintained with the Deployment that serves it: its
// registration must trust the certificate of that Deployment.
func TestToRender(t *testing.T) {
	const things = "things.example.com"
	webhook, api := "v.manager.example.com", pondAPI
	asInstalled := map[string][]string{"manager": {api, webhook, "c.example.com"}, "worker": nil}
	rename := func(c *cluster) { c.spec("manager").Name = "renamed" }
	declare := func(webhook, api, conversion string) func(*cluster) {
		return func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].DeploymentName, c.CSV.Spec.WebhookDefinitions[1].DeploymentName = webhook, conversion
			c.CSV.Spec.APIServiceDefinitions.Owned[0].DeploymentName = api
		}
	}
	for name, test := range map[string]struct {
		edit func(*cluster)
		want map[string][]string
		kept []operatorsv1alpha1.WebhookDescription // of removed webhooks, even if nothing blocks the installation
	}{
		"nothing edited":     {func(*cluster) {}, asInstalled, nil},
		"absent Deployment":  {declare("absent", "absent", "absent"), asInstalled, nil},
		"another Deployment": {declare("worker", "worker", "worker"), asInstalled, nil},
		"removed": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions, c.CSV.Spec.APIServiceDefinitions.Owned = nil, nil
		}, map[string][]string{"manager": {api, webhook, things}, "worker": nil}, []operatorsv1alpha1.WebhookDescription{
			{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: things, DeploymentName: "manager", ConversionCRDs: []string{things}},
		}},
		"renamed Deployment": {func(c *cluster) { rename(c); declare("renamed", "renamed", "renamed")(c) },
			map[string][]string{"renamed": nil, "manager": {api, webhook, "c.example.com"}, "worker": nil}, nil},
		"not registered yet": {func(c *cluster) {
			c.Observed.Validating, c.Observed.APIServices, c.Observed.CRDs = nil, nil, nil
			declare("absent", "worker", "worker")(c)
		}, map[string][]string{"manager": nil, "worker": {api, "c.example.com"}}, nil},
		"registration calls another Service": {func(c *cluster) {
			declare("worker", "manager", "manager")(c)
			c.validating("manager").Webhooks[0].ClientConfig.Service.Name = "other"
		}, map[string][]string{"manager": {api, "c.example.com"}, "worker": {webhook}}, nil},
		"registration of another owner": {func(c *cluster) {
			declare("worker", "manager", "manager")(c)
			c.validating("manager").Labels["olm.owner"] = "other.v1"
		}, map[string][]string{"manager": {api, "c.example.com"}, "worker": {webhook}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			c.declareAPIService("v1", "manager")
			c.declare("worker")
			c.succeed()
			crd := convertedCRD("manager-service", nil, "v1")
			crd.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "shop"
			c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{things: crd}
			c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, operatorsv1alpha1.WebhookDescription{
				Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.example.com", DeploymentName: "manager", ConversionCRDs: []string{things},
			})
			obstacles["a requirement"].put(c)
			test.edit(c)
			declared := c.CSV.DeepCopy()

			got, rendered := map[string][]string{}, c.ToRender()
			for _, spec := range rendered.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
				got[spec.Name] = nil
				for _, d := range csvspec.Descriptions(rendered, spec.Name) {
					got[spec.Name] = append(got[spec.Name], d.GenerateName)
				}
			}
			installtest.Same(t, "by Deployment", test.want, got)
			installtest.Same(t, "the ClusterServiceVersion of the cache was changed", declared, c.CSV)
			c.Verdict = requirements.Verdict{}
			declared.Spec.WebhookDefinitions = append(declared.Spec.WebhookDefinitions, test.kept...)
			installtest.Same(t, "if nothing blocks the installation, it is not rendered as declared", declared, c.ToRender())
		})
	}
}
