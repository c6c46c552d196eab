package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// changes are events that can happen before an operator's webhook is registered. One that does not apply does nothing.
var changes = map[string]func(*cluster){
	"pods are unready":   func(c *cluster) { withDeployment(c, c.becomeUnavailable) },
	"pods are ready":     func(c *cluster) { withDeployment(c, c.becomeAvailable) },
	"endpoints are late": func(c *cluster) { c.serve("manager") },
	"pods refuse": func(c *cluster) {
		c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{Reason: "Refused", Message: "refuses"} }
	},
	"pods answer":         func(c *cluster) { c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} } },
	"certificate is lost": func(c *cluster) { c.Certificates["manager"] = certificateWith("damaged") },
	"another image":       func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image += "x" },
	"unregistered":        func(c *cluster) { c.Observed.Validating = nil },
	"edited": func(c *cluster) {
		for _, v := range c.Observed.Validating {
			v.Webhooks[0].FailurePolicy, v.Webhooks[0].ClientConfig.CABundle = new(admissionregistrationv1.Ignore), nil
		}
	},
	"namespace is added": func(c *cluster) { c.Observed.UnlabelledNamespaces = []string{"red"} },
	"a minute passes":    func(c *cluster) { c.wait(time.Minute) },
}

func withDeployment(c *cluster, do func(string)) {
	if c.Observed.Deployments["manager"] != nil {
		do("manager")
	}
}

// For any sequence of changes, a webhook is registered only while it is served. After that it stays
// registered with its policy. After the last change, nothing more is written.
func TestRegistrationInvariants(t *testing.T) {
	for first := range changes {
		for second := range changes {
			for _, third := range []string{"pods are ready", "pods answer", "unregistered", "a minute passes"} {
				c := unregistered(t)
				sequence := []string{first, second, third}
				for _, change := range sequence {
					changes[change](c)
					if problem := violation(c, c.reconcile()); problem != "" {
						t.Fatalf("%s: %s", strings.Join(sequence, ", then "), problem)
					}
					c.wait(time.Second)
				}
				c.reconcile()
				if steps := stepsOf(c.reconcile()); len(steps) > 0 {
					t.Fatalf("%s: further reconciliations write %q", strings.Join(sequence, ", then "), steps)
				}
			}
		}
	}
}

// violation returns which invariant a reconciliation violates; empty for none.
func violation(c *cluster, plan Plan) string {
	registers := false
	for _, step := range plan.Steps {
		if step.Verb == Delete {
			return "deletes " + step.Key()
		}
		if written, ok := step.Object.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
			w := written.Webhooks[0]
			if *w.FailurePolicy != admissionregistrationv1.Fail || string(w.ClientConfig.CABundle) != "ca" {
				return "weakens the webhook"
			}
			registers = registers || step.Verb == Create
		}
	}
	if registers {
		return tooEarly(c)
	}
	w := plan.Status.Deployments[0].Webhooks[0]
	live := w.State == managerv1alpha1.WebhookRegistered || w.State == managerv1alpha1.WebhookUnreachable
	if exists := len(c.Observed.Validating) > 0; live != exists {
		return fmt.Sprintf("reports %s (%s: %s) for a webhook that is registered: %t", w.State, w.Reason, w.Message, exists)
	}
	return ""
}

// tooEarly returns why the webhook must not be registered yet; empty if it may be.
func tooEarly(c *cluster) string {
	switch {
	case c.Certificates["manager"].Message != "":
		return "registers without a certificate"
	case len(c.Observed.UnlabelledNamespaces) > 0:
		return "registers before the Namespaces are labelled"
	case len(c.Observed.Answers) == 0:
		return "registers without a probe"
	}
	for endpoint, answer := range c.Observed.Answers {
		if !answer.Serves() {
			return "registers although it refuses: " + endpoint.What
		}
	}
	return ""
}

// After a manager stops at any write, the next manager completes the installation.
func TestCrashAfterEachWrite(t *testing.T) {
	keys := func(c *cluster) []string {
		var all []string
		for _, d := range c.Desired.Deployments {
			for _, o := range []drift.Object{d.Service, d.Role, d.RoleBinding, d.Object} {
				if c.find(o) != nil {
					all = append(all, drift.KeyOf(o))
				}
			}
		}
		for _, r := range c.Observed.registrations() {
			all = append(all, drift.KeyOf(r.Object))
		}
		slices.Sort(all)
		return all
	}
	want := keys(installed(t, webhookOf("first"), webhookOf("second")))
	for written := range want {
		c := clusterWith(t, webhookOf("first"), webhookOf("second"))
		c.writes = written
		c.reconcileTimes(10)
		c.expectPhase(fmt.Sprintf("stopped after %d writes", written), succeeded)
		installtest.Same(t, fmt.Sprintf("stopped after %d writes, objects", written), want, keys(c))
		installtest.Same(t, fmt.Sprintf("stopped after %d writes, steps", written), []string(nil), stepsOf(c.next()))
	}
}

// The input belongs to caches.
func TestNextDoesNotModifyInput(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	c.validating("manager").Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
	c.Observed.Deployments["manager"].Spec.Template.Spec.Containers[0].Image = "evil"
	c.Observed.Services["manager-service"].Spec.Selector = nil
	c.CSV.Spec.WebhookDefinitions = c.CSV.Spec.WebhookDefinitions[:1]

	csv, previous := c.CSV.DeepCopy(), c.Previous.DeepCopy()
	deployment, service := c.Observed.Deployments["manager"].DeepCopy(), c.Observed.Services["manager-service"].DeepCopy()
	validating, mutating := c.Observed.Validating[0].DeepCopy(), c.Observed.Mutating[0].DeepCopy()
	installtest.Same(t, "the number of steps", 4, len(c.next().Steps))
	installtest.Same(t, "the ClusterServiceVersion", csv, c.CSV)
	installtest.Same(t, "the status", previous, &c.Previous)
	installtest.Same(t, "the Deployment", deployment, c.Observed.Deployments["manager"])
	installtest.Same(t, "the Service", service, c.Observed.Services["manager-service"])
	installtest.Same(t, "the validating configuration", validating, c.Observed.Validating[0])
	installtest.Same(t, "the mutating configuration", mutating, c.Observed.Mutating[0])
}
