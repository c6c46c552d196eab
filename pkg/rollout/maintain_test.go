package rollout

import (
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// moveWebhook changes the Deployment of the webhook to one that does not become available.
func (c *cluster) moveWebhook(change ...func(*operatorsv1alpha1.WebhookDescription)) {
	c.renameDeployment()
	for _, f := range change {
		f(&c.CSV.Spec.WebhookDefinitions[0])
	}
	c.answer = refuses
}

// renameDeployment replaces the Deployment "before" by "after", which serves the webhook.
func (c *cluster) renameDeployment() {
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil
	c.declare("after")
	c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "after"
	c.Certificates["after"] = c.Certificates["before"]
}

// upgrade adds a new version of the operator with a change, and starts the upgrade.
func (c *cluster) upgrade(change func()) {
	older, newer := c.CSV.DeepCopy(), c.CSV.DeepCopy()
	newer.Name, newer.UID, newer.Spec.Replaces = "shop.v2", "uid-of-shop-2", older.Name
	newer.Status = operatorsv1alpha1.ClusterServiceVersionStatus{}
	c.CSV, c.Upgrade = newer, Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{older}, Started: true}
	change()
}

// A registration keeps its policy, caBundle and certificate until the desired Deployment serves the
// webhook, after an edit or an upgrade to a Deployment that does not become available.
func TestMaintainedRegistration(t *testing.T) {
	moreRules := func(d *operatorsv1alpha1.WebhookDescription) { d.Rules[0].Resources = []string{"orders", "bills"} }
	for name, test := range map[string]struct {
		want         func(*cluster)
		caBundleOnly bool // the registered policy is not known any more
	}{
		"an edit moves it":                    {want: func(c *cluster) { c.moveWebhook() }},
		"an edit moves it, and changes it":    {want: func(c *cluster) { c.moveWebhook(moreRules) }, caBundleOnly: true},
		"an upgrade moves it":                 {want: func(c *cluster) { c.upgrade(func() { c.moveWebhook() }) }},
		"an upgrade moves it, and changes it": {want: func(c *cluster) { c.upgrade(func() { c.moveWebhook(moreRules) }) }},
		"an upgrade changes it, after another Deployment that does not get available": {want: func(c *cluster) {
			c.upgrade(func() {
				specs := &c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
				c.declare("first")
				slices.Reverse(*specs)
				c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("first"))
				c.Certificates["first"] = c.Certificates["before"]
				moreRules(&c.CSV.Spec.WebhookDefinitions[0])
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("before", named("hook.example.com")))
			c.reconcileLater()
			was := c.Observed.Validating[0].DeepCopy()
			test.want(c)
			c.reconcileLater()
			c.wait(10 * time.Second)
			c.reconcileLater()

			live := c.Observed.Validating[0]
			live.Webhooks[0].FailurePolicy, live.Webhooks[0].ClientConfig.CABundle = new(admissionregistrationv1.Ignore), nil
			live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:webhooks":{"k:{\"name\":\"hook.example.com\"}":{"f:failurePolicy":{},"f:clientConfig":{"f:caBundle":{}}}}}`)}
			c.reconcileLater()
			got := c.Observed.Validating[0]
			if got.Labels["olm.owner"] != was.Labels["olm.owner"] || got.Webhooks[0].ClientConfig.Service.Name != "before-service" {
				t.Fatalf("it is %s's, called at %s", got.Labels["olm.owner"], got.Webhooks[0].ClientConfig.Service.Name)
			}
			installtest.Same(t, "its caBundle", string(was.Webhooks[0].ClientConfig.CABundle), string(got.Webhooks[0].ClientConfig.CABundle))
			installtest.Same(t, "its policy is restored", !test.caBundleOnly, *got.Webhooks[0].FailurePolicy == admissionregistrationv1.Fail)
			installtest.Same(t, "the number of resources before an endpoint serves more", 1, len(got.Webhooks[0].Rules[0].Resources))

			c.trust.CABundle, c.trust.Generation, c.trust.RestartedFor = []byte("next, ca"), 2, "2"
			c.Secrets["before"] = secretOf("before")
			plan := c.next()
			for _, want := range []string{"create Secret shop/before-service-cert", "update Deployment shop/before: spec.template.metadata.annotations"} {
				installtest.Among(t, stepsOf(plan), want)
			}
			c.Secrets = map[string]*Step{}
			c.reconcileLater()
			installtest.Same(t, "its caBundle", "next, ca", string(c.Observed.Validating[0].Webhooks[0].ClientConfig.CABundle))
			c.reconcileLater()
			installtest.Same(t, "it writes again", []string(nil), stepsOf(c.next()))
		})
	}
}

// A definition keeps its conversion until the desired Deployment serves it. Its caBundle is updated.
func TestMaintainedConversion(t *testing.T) {
	conversion := operatorsv1alpha1.WebhookDescription{
		Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.example.com", DeploymentName: "before", ConversionCRDs: []string{"things.example.com"}, WebhookPath: new("/convert"),
	}
	for name, want := range map[string]func(*cluster){
		"by an edit":    func(c *cluster) { c.moveWebhook() },
		"by an upgrade": func(c *cluster) { c.upgrade(func() { c.moveWebhook() }) },
		"with its path": func(c *cluster) {
			c.moveWebhook(func(d *operatorsv1alpha1.WebhookDescription) { d.WebhookPath = new("/v2") })
		},
		"both, upgraded": func(c *cluster) {
			c.upgrade(func() { c.moveWebhook(func(d *operatorsv1alpha1.WebhookDescription) { d.WebhookPath = new("/v2") }) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, conversion)
			crd := convertedCRD("none", nil, "v1")
			crd.Spec.Conversion = nil
			c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}
			c.reconcileUntilStable()
			_, service := owners.ConvertedBy(c.Observed.CRDs[crd.Name])
			if service != "before-service" {
				t.Fatalf("converted by %q", service)
			}
			want(c)
			c.trust.CABundle, c.trust.Generation = []byte("next, ca"), 2
			for range 3 {
				c.reconcileWithConversions()
				c.wait(time.Minute)
			}
			client := c.Observed.CRDs[crd.Name].Spec.Conversion.Webhook.ClientConfig
			if client.Service.Name != "before-service" || *client.Service.Path != "/convert" || string(client.CABundle) != "next, ca" {
				t.Errorf("it is converted by %s%s under %q", client.Service.Name, *client.Service.Path, client.CABundle)
			}
		})
	}
}

func (c *cluster) reconcileWithConversions() {
	c.t.Helper()
	c.Observed.Answers = map[backends.Endpoint]backends.Answer{}
	for _, e := range c.next().Probes {
		c.Observed.Answers[e] = c.answer(e)
	}
	plan := c.next()
	for _, step := range plan.Steps {
		if step.Verb != Convert {
			c.carryOut(step)
			continue
		}
		converted := c.Observed.CRDs[step.Object.GetName()].DeepCopy()
		desired := step.Object.(*apiextensionsv1.CustomResourceDefinition)
		converted.Spec.Conversion, converted.Annotations = desired.Spec.Conversion, desired.Annotations
		c.Observed.CRDs[converted.Name] = converted
	}
	c.Previous = *plan.Status.DeepCopy()
}
