package rollout

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

func pathsToProbe(plan Plan) []string {
	return lists.Map(plan.Probes, func(e backends.Endpoint) string { return e.Address + e.Review.Path })
}

func atPath(path string) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.WebhookPath = &path }
}

// Each pod must answer a review at the path of a webhook before the webhook is registered. Webhooks
// that are or were registered get no review.
func TestReviewsToSend(t *testing.T) {
	const handshake = "10.96.0.10:443"
	for name, test := range map[string]struct {
		start  func(*testing.T) *cluster
		change func(*cluster)
		want   []string
	}{
		"a first registration": {want: []string{"10.244.0.5:443/validate", handshake}},
		"two pods": {
			change: func(c *cluster) { c.serve("manager", "10.244.0.5", "10.244.0.6") },
			want:   []string{"10.244.0.5:443/validate", "10.244.0.6:443/validate", handshake},
		},
		"two webhooks on one port": {
			change: func(c *cluster) {
				c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manager", mutatingNamed("m.manager.example.com"), atPath("/mutate")))
			},
			want: []string{"10.244.0.5:443/validate", handshake, "10.244.0.5:443/mutate"},
		},
		"probe handshake": {
			change: func(c *cluster) {
				c.CSV.Annotations = map[string]string{wellknown.AnnotationProbe: wellknown.ProbeHandshake}
			},
			want: []string{"10.244.0.5:443", handshake},
		},
		"gate Available": {change: func(c *cluster) { c.Policy.Gate = GateAvailable }},
		"registered":     {start: registeredAtPath},
		"a registration that another client deleted": {
			start:  registeredAtPath,
			change: func(c *cluster) { c.remove(c.validating("manager")) },
			want:   []string{"10.244.0.5:443", handshake},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := test.start
			if start == nil {
				start = func(t *testing.T) *cluster {
					c := unregistered(t)
					atPath("/validate")(&c.CSV.Spec.WebhookDefinitions[0])
					return c
				}
			}
			c := start(t)
			if test.change != nil {
				test.change(c)
			}
			installtest.Same(t, "reviews to send", test.want, pathsToProbe(c.next()))
		})
	}
}

func registeredAtPath(t *testing.T) *cluster {
	return installed(t, webhookOf("manager", atPath("/validate")))
}

func notServing(path string) func(backends.Endpoint) backends.Answer {
	return func(e backends.Endpoint) backends.Answer {
		if e.Review.Path == path {
			return backends.Answer{Reason: "PathNotServed", Message: "there is nothing at " + path}
		}
		return backends.Answer{}
	}
}

// A path that is not served blocks the registration of its webhook only.
func TestPathNotServed(t *testing.T) {
	c := unregistered(t)
	c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manager", mutatingNamed("m.manager.example.com"), atPath("/wrong")))
	c.answer = notServing("/wrong")
	plan := c.reconcile()
	installtest.Same(t, "webhooks", []string{
		"v.manager.example.com Waiting Registering: the registration is being written",
		"m.manager.example.com Waiting PathNotServed: there is nothing at /wrong",
	}, webhooksOf(plan))
	if steps := strings.Join(stepsOf(plan), "; "); strings.Contains(steps, "m.manager") || !strings.Contains(steps, "v.manager") {
		t.Errorf("the plan does %s", steps)
	}
}

func (c *cluster) pathCalled() string { return registration.RouteOf(c.validating("manager")).Path }

// An edited path is called after it is served. The previous path is called until then, with any caBundle.
func TestEditedPath(t *testing.T) {
	for _, delegated := range []bool{false, true} {
		c := registeredAtPath(t)
		c.trust.Delegated = delegated
		c.reconcileLater()
		c.answer = notServing("/wrong")
		atPath("/wrong")(&c.CSV.Spec.WebhookDefinitions[0])
		for range 3 {
			plan := c.reconcile()
			installtest.Same(t, "webhooks", []string{`v.manager.example.com Registered PathNotServed: path "/validate" is called until "/wrong" is served: there is nothing at /wrong`}, webhooksOf(plan))
			installtest.Same(t, "the called path", "/validate", c.pathCalled())
		}
		installtest.Same(t, "each reconciliation writes", []string(nil), stepsOf(c.next()))
		atPath("/right")(&c.CSV.Spec.WebhookDefinitions[0])
		c.reconcile()
		installtest.Same(t, "the called path", "/right", c.pathCalled())
	}
}

// A registration that another client deletes is not recreated at an edited path, port or Deployment
// without a review. If the description is as it was called, no review is needed.
func TestEditAndDeletedRegistration(t *testing.T) {
	edit := func(c *cluster) *operatorsv1alpha1.WebhookDescription { return &c.CSV.Spec.WebhookDefinitions[0] }
	for name, test := range map[string]struct {
		change func(*cluster)
		want   string // state of the webhook
		probes []string
	}{
		"no edit": {func(*cluster) {}, "Waiting Registering: the registration is being written", []string{"10.244.0.5:443", "10.96.0.10:443"}},
		"another path that is not served": {
			func(c *cluster) { atPath("/wrong")(edit(c)) },
			"Waiting PathNotServed: there is nothing at /wrong", []string{"10.244.0.5:443/wrong", "10.96.0.10:443"},
		},
		"another path that is served": {
			func(c *cluster) { atPath("/right")(edit(c)) },
			"Waiting Registering: the registration is being written", []string{"10.244.0.5:443/right", "10.96.0.10:443"},
		},
		"the call before is not recorded": {
			func(c *cluster) { c.Previous.Deployments[0].Webhooks[0].Calls = "" },
			"Waiting Registering: the registration is being written", []string{"10.244.0.5:443/validate", "10.96.0.10:443"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := registeredAtPath(t)
			c.reconcile()
			installtest.Same(t, "the recorded call", "manager-service:443/validate", c.Previous.Deployments[0].Webhooks[0].Calls)
			c.answer = notServing("/wrong")
			test.change(c)
			c.remove(c.validating("manager"))
			installtest.Same(t, "reviews to send", test.probes, pathsToProbe(c.next()))
			for range 2 {
				plan := c.reconcile()
				installtest.Same(t, "webhooks", []string{"v.manager.example.com " + test.want}, webhooksOf(plan))
				if len(c.Observed.Validating) > 0 {
					break
				}
			}
		})
	}
}

// An edited path that waits for its review is not called when another client deletes the registration meanwhile.
func TestEditedPathAndDeletedRegistration(t *testing.T) {
	c := registeredAtPath(t)
	c.answer = notServing("/wrong")
	atPath("/wrong")(&c.CSV.Spec.WebhookDefinitions[0])
	c.reconcile()
	c.remove(c.validating("manager"))
	for range 3 {
		installtest.Same(t, "webhooks", []string{"v.manager.example.com Waiting PathNotServed: there is nothing at /wrong"}, webhooksOf(c.reconcile()))
	}
	installtest.Same(t, "the number of registrations", 0, len(c.Observed.Validating))
	atPath("/validate")(&c.CSV.Spec.WebhookDefinitions[0])
	c.reconcile()
	installtest.Same(t, "the called path", "/validate", c.pathCalled())
}

// The same applies to a definition whose conversion another client removed.
func TestEditedConversionPathAndRemovedConversion(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"no edit":                           {func(*cluster) {}, "converter-service/convert:8443 ca"},
		"a path that is not served":         {func(c *cluster) { atPath("/wrong")(&c.CSV.Spec.WebhookDefinitions[0]) }, ""},
		"a path that is served":             {func(c *cluster) { atPath("/v2")(&c.CSV.Spec.WebhookDefinitions[0]) }, "converter-service/v2:8443 ca"},
		"no edit, a requirement is not met": {obstacles["a requirement"].put, "converter-service/convert:8443 ca"},
		"an edit while a requirement is not met": {func(c *cluster) {
			atPath("/v2")(&c.CSV.Spec.WebhookDefinitions[0])
			obstacles["a requirement"].put(c)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithConversions(t)
			c.answer = notServing("/wrong")
			test.change(c)
			for _, crd := range c.Observed.CRDs {
				crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
			}
			for range 3 {
				c.reconcileWithConversions()
			}
			for crd := range c.Observed.CRDs {
				installtest.Same(t, "converted by", test.want, c.convertedWith(crd))
			}
		})
	}
}

// A registration with a delegated caBundle that another client deletes is created without rules. They
// wait for the review at an edited path.
func TestEditedPathAndDeletedDelegatedRegistration(t *testing.T) {
	c := registeredAtPath(t)
	c.trust.Delegated = true
	c.reconcileLater()
	c.answer = notServing("/wrong")
	atPath("/wrong")(&c.CSV.Spec.WebhookDefinitions[0])
	c.reconcile()
	c.remove(c.validating("manager"))
	for range 3 {
		c.reconcile()
		for _, live := range c.Observed.Validating {
			live.Webhooks[0].ClientConfig.CABundle = c.trust.CABundle // the issuer injects it
			installtest.Same(t, "the number of rules", 0, len(live.Webhooks[0].Rules))
		}
	}
	if len(c.Observed.Validating) == 0 {
		t.Error("there is no registration for the issuer")
	}
}

// A definition is converted at the previous path until the edited path is served, also if a
// requirement is not met. A path that another client wrote or removed is repaired.
func TestEditedConversionPath(t *testing.T) {
	const ours, theirs = "olm-webhook-manager", "kubectl-edit"
	route := `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:service":{"f:path":{}}}}}}}`
	for name, test := range map[string]struct {
		change func(*cluster)
		writer string
		want   string
	}{
		"it is served":                  {func(c *cluster) { c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} } }, ours, "/v2"},
		"it is not served":              {func(*cluster) {}, ours, "/convert"},
		"a requirement is not met":      {func(c *cluster) { obstacles["a requirement"].put(c) }, ours, "/convert"},
		"invalid description":           {func(c *cluster) { obstacles["an invalid description"].put(c) }, ours, "/convert"},
		"another client wrote the path": {func(*cluster) {}, theirs, "/v2"},
		"gate Available":                {func(c *cluster) { c.Policy.Gate = GateAvailable }, ours, "/v2"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithConversions(t)
			for _, crd := range c.Observed.CRDs {
				crd.ManagedFields = []metav1.ManagedFieldsEntry{wrote(test.writer, route)}
			}
			c.answer = notServing("/v2")
			c.CSV.Spec.WebhookDefinitions[0].WebhookPath = new("/v2")
			test.change(c)
			for range 3 {
				c.reconcileWithConversions()
			}
			installtest.Same(t, "the called path", test.want, conversion.RouteOf(c.Observed.CRDs["things.example.com"].Spec.Conversion).Path)
		})
	}
}

// A path that another client wrote to a registration is repaired, even if the pods do not answer.
func TestPathEditedByAnotherClient(t *testing.T) {
	c := registeredAtPath(t)
	c.answer = func(backends.Endpoint) backends.Answer {
		return backends.Answer{Reason: "PathNotServed", Message: "there is nothing"}
	}
	other := "/other"
	c.validating("manager").Webhooks[0].ClientConfig.Service.Path = &other
	c.reconcile()
	installtest.Same(t, "the called path", "/validate", c.pathCalled())
}
