package rollout

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

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
