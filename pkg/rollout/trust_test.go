package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The published trust is that of the Secret, so the Secret is written first. A registration that a
// manager with newer facts wrote is not changed.
func TestSecretIsWrittenBeforeTrust(t *testing.T) {
	const (
		bundle   = `: metadata.annotations.olm-webhook-manager.io/certificate-generation, webhooks[name="v.manager.example.com"].clientConfig.caBundle`
		trusts   = "apply ValidatingWebhookConfiguration v.manager.example.com" + bundle
		mutating = `apply MutatingWebhookConfiguration m.example.com: metadata.annotations.olm-webhook-manager.io/certificate-generation, webhooks[name="m.example.com"].clientConfig.caBundle`
		written  = "create Secret shop/manager-service-cert"
		updated  = "update Secret shop/manager-service-cert: data"
	)
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []string
	}{
		"no Secret":       {func(*cluster) {}, []string{written, trusts, mutating}},
		"existing Secret": {func(c *cluster) { c.Secrets["manager"] = nextSecretOf("manager") }, []string{updated, trusts, mutating}},
		"a registration is deleted": {func(c *cluster) {
			c.remove(c.Observed.Mutating[0])
			c.serve("manager")
		}, []string{written, trusts}},
		"a manager with newer facts wrote a registration": {func(c *cluster) {
			c.validating("manager").Annotations["olm-webhook-manager.io/certificate-generation"] = "3"
		}, []string{written, mutating}},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
			c.trust = render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
			c.Secrets["manager"] = secretOf("manager")
			test.change(c)
			installtest.Same(t, "steps", test.want, stepsOf(c.next()))
		})
	}
}

// While an upgrade has not started a Deployment, its webhooks trust a certificate only after it is
// stored, also if the Deployment is absent.
func TestSecretOfADeploymentThatIsNotStarted(t *testing.T) {
	for name, absent := range map[string]bool{"of the previous version": false, "absent": true} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("first"), webhookOf("second")).upgradeTo(webhookOf("first"), webhookOf("second"))
			c.spec("first").Spec.Template.Spec.Containers[0].Image = "shop:2"
			c.reconcileLater()
			c.becomeUnavailable("first")
			if absent {
				c.remove(c.Observed.Deployments["second"])
			}
			c.trust = render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
			c.Secrets["second"] = secretOf("second")
			plan := c.reconcileLater()
			installtest.Same(t, "why the second Deployment is pending", managerv1alpha1.ReasonEarlierDeployment, plan.Status.Deployments[1].Reason)
			indexOf := func(prefix string) int {
				return slices.IndexFunc(stepsOf(plan), func(step string) bool { return strings.HasPrefix(step, prefix) })
			}
			stored, trusted := indexOf("create Secret shop/second-service-cert"), indexOf("apply ValidatingWebhookConfiguration v.second.example.com")
			if stored < 0 || trusted < stored {
				t.Errorf("the Secret is written in step %d, the registration in step %d: %q", stored, trusted, stepsOf(plan))
			}
		})
	}
}

// A registration is updated under its observed resourceVersion: trust that another manager added since must stay.
func TestRegistrationUpdateHasResourceVersion(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.trust.CABundle = []byte("another")
	for _, step := range c.next().Steps {
		if step.Object.GetResourceVersion() != step.Live.GetResourceVersion() || step.Live.GetResourceVersion() == "" {
			t.Errorf("%s %s has resourceVersion %q, want %q", step.Verb, step.Key(), step.Object.GetResourceVersion(), step.Live.GetResourceVersion())
		}
	}
}

// Pods are re-synced after everything else is written.
func TestResyncPodsIsLast(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.Secrets["manager"] = secretOf("manager")
	c.ResyncPods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-0"}}}
	installtest.Same(t, "steps", []string{"create Secret shop/manager-service-cert", "resync Pod shop/manager-0"}, stepsOf(c.next()))
}

// An empty caBundle is not written if the trust is unknown.
func TestUnknownTrustIsNotWritten(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.trust = render.Trust{}
	c.Certificates["manager"] = certificateWith("belongs to another client")
	written := func(step Step) bool { return step.Kind() == "ValidatingWebhookConfiguration" }
	installtest.Same(t, "the registration is written", false, slices.ContainsFunc(c.next().Steps, written))
}

// Updates of the Secret during a rotation do not count as repairs.
func TestRepairsOfSecret(t *testing.T) {
	first, next, repeated := *secretOf("manager"), *nextSecretOf("manager"), *nextSecretOf("manager")
	repeated.Repeated = true
	repaired := map[string]drift.Contest{first.Key(): drift.Contest{}.Repaired(drift.Drift{}, time.Unix(0, 0))}
	for name, test := range map[string]struct {
		step     Step
		contests map[string]drift.Contest
		want     bool
	}{
		"the next certificate":                 {next, nil, false},
		"the next certificate, after a repair": {next, repaired, false},
		"created":                              {first, nil, false},
		"recreated":                            {first, repaired, true},
		"the same content":                     {repeated, nil, true},
	} {
		installtest.Same(t, name+": repairs", test.want, test.step.IsRepair(managerv1alpha1.WebhookRolloutStatus{}, test.contests))
	}
}
