package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// clusterWithConversions returns a cluster whose operator converts things.example.com and
// bills.example.com. Both have objects in several versions.
func clusterWithConversions(t *testing.T) *cluster {
	t.Helper()
	c := clusterWith(t, operatorsv1alpha1.WebhookDescription{
		Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.example.com", DeploymentName: "converter", ContainerPort: 8443, WebhookPath: new("/convert"),
		ConversionCRDs: []string{"things.example.com", "bills.example.com"}, AdmissionReviewVersions: []string{"v1"},
	})
	c.Observed.CRDs, c.Observed.ObjectCounts = map[string]*apiextensionsv1.CustomResourceDefinition{}, map[string]int{}
	for _, name := range c.CSV.Spec.WebhookDefinitions[0].ConversionCRDs {
		crd := convertedCRD("none", []string{"v1"}, "v1", "v2")
		crd.Name, crd.Spec.Conversion = name, nil
		c.Observed.CRDs[name], c.Observed.ObjectCounts[name] = crd, 1
	}
	c.reconcileUntilStable()
	for name := range c.Observed.CRDs {
		installtest.Same(t, "converted by", "converter-service/convert:8443 ca", c.convertedWith(name))
	}
	return c
}

// reconcileUntilStable reconciles until the manager writes no more.
func (c *cluster) reconcileUntilStable() {
	c.t.Helper()
	for range 6 {
		c.reconcileWithConversions()
		for deployment := range c.Observed.Deployments {
			c.becomeAvailable(deployment)
		}
		c.wait(time.Minute)
	}
}

func (c *cluster) convertedWith(crd string) string {
	conversion := c.Observed.CRDs[crd].Spec.Conversion
	if conversion == nil || conversion.Webhook == nil {
		return ""
	}
	called := conversion.Webhook.ClientConfig
	return called.Service.Name + *called.Service.Path + fmt.Sprintf(":%d %s", *called.Service.Port, called.CABundle)
}

// An edit removes a conversion that objects need. Its Deployment stays and is maintained until no object needs it.
func TestRemovedConversion(t *testing.T) {
	for name, test := range map[string]struct {
		edit    func(*cluster)
		deletes bool // the Deployment, when no definition needs it
	}{
		"with its Deployment": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions, c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil, nil
			c.declare("other")
		}, true},
		"of a Deployment that stays": {edit: func(c *cluster) { c.CSV.Spec.WebhookDefinitions = nil }},
		"of a Deployment that serves something else": {edit: func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhookOf("converter")}
		}},
		"of one of two definitions": {edit: func(c *cluster) { c.CSV.Spec.WebhookDefinitions[0].ConversionCRDs = []string{"bills.example.com"} }},
		"by an upgrade that has begun": {edit: func(c *cluster) {
			c.upgrade(func() {
				c.CSV.Spec.WebhookDefinitions, c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil, nil
				c.declare("other")
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithConversions(t)
			test.edit(c)
			c.reconcileUntilStable()
			if c.Observed.Deployments["converter"] == nil {
				t.Fatal("the Deployment that converts is deleted")
			}
			if mounted := c.Observed.Deployments["converter"].Spec.Template.Spec.Volumes; len(mounted) == 0 {
				t.Error("its pods lose their certificate")
			}
			installtest.Same(t, "it writes again", []string(nil), stepsOf(c.next()))

			c.trust.CABundle, c.trust.Generation = []byte("next, ca"), 2
			delete(c.Observed.Services, "converter-service")
			c.reconcileUntilStable()
			installtest.Same(t, "converted by", "converter-service/convert:8443 next, ca", c.convertedWith("things.example.com"))
			installtest.Among(t, lists.Map(c.Observed.Services["converter-service"].Spec.Ports, func(p corev1.ServicePort) string { return fmt.Sprint(p.Port) }), "8443")
			c.Secrets["converter"] = secretOf("converter")
			installtest.Among(t, stepsOf(c.next()), "create Secret shop/converter-service-cert")
			delete(c.Secrets, "converter")

			c.Observed.ObjectCounts["things.example.com"], c.Observed.ObjectCounts["bills.example.com"] = 0, 0
			c.reconcileUntilStable()
			_, by := owners.ConvertedBy(c.Observed.CRDs["things.example.com"])
			installtest.Same(t, "the converter without objects", "", by)
			if test.deletes && c.Observed.Deployments["converter"] != nil {
				t.Error("the Deployment stays though no definition needs it")
			}
		})
	}
}

// A Deployment is kept while the API server refuses to delete its registration.
func TestDeploymentOfRefusedDeletion(t *testing.T) {
	c := installed(t, webhookOf("before"))
	c.CSV.Spec.WebhookDefinitions, c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil, nil
	c.declare("other")
	c.refuse(drift.KeyOf(c.validating("before")), "a policy forbids it")
	c.reconcileLater()
	c.reconcileLater("other")
	c.wait(time.Hour)
	c.reconcileLater()
	if c.Observed.Deployments["before"] == nil {
		t.Error("the Deployment is deleted while API servers call it")
	}
}

// Removing a conversion that no object needs causes one rollout: nothing is written before the objects are counted.
func TestRemovedConversionWithoutObjects(t *testing.T) {
	c := clusterWithConversions(t)
	c.CSV.Spec.WebhookDefinitions = nil
	c.Observed.ObjectCounts = nil
	plan := c.next()
	if len(plan.Steps) > 0 || len(plan.Count) != 2 {
		t.Fatalf("steps %q before definitions are counted: %q", stepsOf(plan), plan.Count)
	}
	c.Observed.ObjectCounts = map[string]int{"things.example.com": 0, "bills.example.com": 0}
	var rollouts []string
	for range 6 {
		for _, step := range stepsOf(c.next()) {
			if strings.Contains(step, "update Deployment") {
				rollouts = append(rollouts, step)
			}
		}
		c.reconcileUntilStable()
	}
	installtest.Same(t, "writes of the Deployment", 1, len(rollouts))
}
