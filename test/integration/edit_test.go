package integration

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// What a ClusterServiceVersion declares after an edit is registered, and nothing else.
func TestEditedWebhooks(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*operatorsv1alpha1.ClusterServiceVersion)
		want []string
	}{
		"one is removed": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[:1]
			},
			[]string{"ValidatingWebhookConfiguration v.example.com server-service:443"},
		},
		"all are removed": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.WebhookDefinitions = nil },
			nil,
		},
		"one is added": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("w.example.com", "operator"))
			},
			[]string{
				"MutatingWebhookConfiguration m.example.com server-service:9443",
				"ValidatingWebhookConfiguration v.example.com server-service:443",
				"ValidatingWebhookConfiguration w.example.com operator-service:443",
			},
		},
		"one has another type": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[1].Type = operatorsv1alpha1.ValidatingAdmissionWebhook
			},
			[]string{
				"ValidatingWebhookConfiguration m.example.com server-service:9443",
				"ValidatingWebhookConfiguration v.example.com server-service:443",
			},
		},
		"one has another name": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].GenerateName = "other.example.com"
			},
			[]string{
				"MutatingWebhookConfiguration m.example.com server-service:9443",
				"ValidatingWebhookConfiguration other.example.com server-service:443",
			},
		},
		"one has another port": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.WebhookDefinitions[0].ContainerPort = 8443 },
			[]string{
				"MutatingWebhookConfiguration m.example.com server-service:9443",
				"ValidatingWebhookConfiguration v.example.com server-service:8443",
			},
		},
		"one is served by the other Deployment": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[1].DeploymentName = "operator"
			},
			[]string{
				"MutatingWebhookConfiguration m.example.com operator-service:9443",
				"ValidatingWebhookConfiguration v.example.com server-service:443",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", allNamespaces)
			e.runDeployments()
			e.manage()
			e.install(bundle())
			e.edit("operator.v1", test.edit)
			e.eventually("what is declared is registered", func() (bool, any) {
				got := e.calls()
				return slices.Equal(got, test.want), got
			})
			e.succeeds("operator.v1")
			e.eventually("the WebhookRollout says that it is ready", func() (bool, any) {
				r := e.rollout("operator.v1")
				return r.ObservedGeneration == 2 && meta.IsStatusConditionTrue(r.Conditions, "Ready"), r
			})
			for _, registered := range e.registered() {
				config := registered.Webhooks[0].ClientConfig
				if ca := e.caOf(config.Service.Name + "-cert"); ca == nil || !bytes.Contains(config.CABundle, ca) {
					t.Errorf("webhook %s does not trust what its pods serve", registered.Webhooks[0].Name)
				}
			}
		})
	}
}

// calls are the registrations of the test's Namespace, and where each webhook is called.
func (e *env) calls() []string {
	e.Helper()
	var calls []string
	for _, o := range e.owned(clusterScoped) {
		calls = append(calls, fmt.Sprintf("%s %s %s", o.GetKind(), o.GetLabels()["olm.webhook-description-generate-name"], calledAt(o)))
	}
	slices.Sort(calls)
	return calls
}

func calledAt(o unstructured.Unstructured) string {
	webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	service, _, _ := unstructured.NestedMap(webhooks[0].(map[string]any), "clientConfig", "service")
	return fmt.Sprintf("%v:%v", service["name"], service["port"])
}

// A ClusterServiceVersion may come back while what its predecessor of that name left
// waits for the garbage collector, who would take it from the new one.
func TestReinstall(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := e.manage()
	e.install(bundle())
	e.uninstall("operator.v1")
	e.install(bundle())
	m.looksAgain("operator.v1")
	uid := e.get("operator.v1").UID
	for _, o := range e.owned(derived) {
		for _, owner := range o.GetOwnerReferences() {
			if owner.UID != uid && o.GetKind() != "WebhookRollout" { // which nobody misses until it is made again
				t.Errorf("%s %s is owned by one that is gone", o.GetKind(), o.GetName())
			}
		}
	}
	e.isComplete(installed)
}
