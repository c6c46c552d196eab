package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// A certificate that replaces a lost one reaches the pods after every registration
// trusts it, and not at all while one cannot be made to.
func TestSecretFollowsTrust(t *testing.T) {
	const (
		bundle   = `: metadata.annotations.olm-webhook-manager.io/certificate-generation, webhooks[name="v.manager.example.com"].clientConfig.caBundle`
		trusts   = "apply ValidatingWebhookConfiguration v.manager.example.com" + bundle
		mutating = `apply MutatingWebhookConfiguration m.example.com: metadata.annotations.olm-webhook-manager.io/certificate-generation, webhooks[name="m.example.com"].clientConfig.caBundle`
		written  = "create Secret shop/manager-service-cert"
	)
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []string
	}{
		"every registration is there": {
			func(*cluster) {}, []string{trusts, mutating, written},
		},
		"every registration trusts it already": {
			func(c *cluster) {
				c.Secrets = nil
				c.pass()
				c.Secrets = map[string]SecretWrite{"manager": {Object: secretOf("manager"), AfterTrust: true}}
			}, []string{written},
		},
		"a registration is gone": {
			func(c *cluster) {
				c.remove(c.Observed.Mutating[0])
				c.serve("manager")
			}, []string{trusts, written},
		},
		"another client holds a registration": {
			func(c *cluster) {
				c.validating("manager").Webhooks[0].ClientConfig.CABundle = nil
				c.Observed.Contests[KeyOf(c.validating("manager"))] = Contest{Count: 3, First: c.now, Last: c.now}
			}, []string{mutating},
		},
		"the API server refuses a registration": {
			func(c *cluster) { c.refuse("ValidatingWebhookConfiguration", "no") }, []string{mutating},
		},
		"a manager that saw more wrote a registration": {
			func(c *cluster) {
				c.validating("manager").Annotations["olm-webhook-manager.io/certificate-generation"] = "3"
			}, []string{mutating},
		},
		"a registration differs in something else": {
			func(c *cluster) {
				c.Secrets = nil
				c.pass()
				c.Secrets = map[string]SecretWrite{"manager": {Object: secretOf("manager"), AfterTrust: true}}
				c.group.Spec.TargetNamespaces, c.Observed.Uncovered = []string{"red"}, []string{"red"}
			}, []string{written},
		},
		"nothing has to trust it first": {
			func(c *cluster) { c.Secrets["manager"] = SecretWrite{Object: secretOf("manager")} }, []string{written, trusts, mutating},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
			c.trust = install.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
			c.Secrets = map[string]SecretWrite{"manager": {Object: secretOf("manager"), AfterTrust: true}}
			test.change(c)
			if diff := cmp.Diff(test.want, stepsOf(c.next())); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// A Secret that is there is updated, under the resourceVersion that was seen.
func TestSecretIsUpdated(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	secret := secretOf("manager")
	secret.ResourceVersion = "7"
	c.Secrets = map[string]SecretWrite{"manager": {Object: secret}}
	if diff := cmp.Diff([]string{"update Secret shop/manager-service-cert"}, stepsOf(c.next())); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Lost trust that nobody knows is no reason to write an empty caBundle.
func TestRegistrationKeepsItsTrust(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.trust = install.Trust{}
	c.Certificates["manager"] = certificateWith("belongs to somebody else")
	for _, step := range c.next().Steps {
		if step.Kind() == "ValidatingWebhookConfiguration" {
			t.Errorf("%s %s: %v", step.Verb, step.Key(), step.Drift.Fields)
		}
	}
}
