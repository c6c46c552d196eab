package integration

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestEditedWebhooks(t *testing.T) {
	const (
		mutating   = "MutatingWebhookConfiguration m.example.com server-service:9443"
		validating = "ValidatingWebhookConfiguration v.example.com server-service:443"
	)
	for name, test := range map[string]struct {
		edit func(*operatorsv1alpha1.ClusterServiceVersion)
		want []string
	}{
		"one is removed": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[:1]
			},
			[]string{validating},
		},
		"all are removed": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.WebhookDefinitions = nil },
			nil,
		},
		"one is added": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("w.example.com", "operator"))
			},
			[]string{mutating, validating, "ValidatingWebhookConfiguration w.example.com operator-service:443"},
		},
		"one has another type": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[1].Type = operatorsv1alpha1.ValidatingAdmissionWebhook
			},
			[]string{"ValidatingWebhookConfiguration m.example.com server-service:9443", validating},
		},
		"one has another name": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].GenerateName = "other.example.com"
			},
			[]string{mutating, "ValidatingWebhookConfiguration other.example.com server-service:443"},
		},
		"one has another port": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.WebhookDefinitions[0].ContainerPort = 8443 },
			[]string{mutating, "ValidatingWebhookConfiguration v.example.com server-service:8443"},
		},
		"one is served by the other Deployment": {
			func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[1].DeploymentName = "operator"
			},
			[]string{"MutatingWebhookConfiguration m.example.com operator-service:9443", validating},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			e.manage()
			e.install(bundle())
			e.edit("operator.v1", test.edit)
			becomes(e, "what is declared is registered", func() []string { return calls(e) }, test.want)
			e.succeeds("operator.v1")
			e.eventually("the WebhookRollout reports that it is ready", func() (bool, any) {
				r := e.rollout("operator.v1")
				return r.ObservedGeneration == 2 && meta.IsStatusConditionTrue(r.Conditions, "Ready"), r
			})
			for _, registered := range registered(e) {
				config := registered.Webhooks[0].ClientConfig
				if ca := caOf(e, config.Service.Name+"-cert"); ca == nil || !bytes.Contains(config.CABundle, ca) {
					t.Errorf("webhook %s does not trust what its pods serve", registered.Webhooks[0].Name)
				}
			}
		})
	}
}

func calls(e *env) []string {
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

// The number of replicas is an autoscaler's until the ClusterServiceVersion asks for another one.
func TestReplicas(t *testing.T) {
	e, m := newRunningOperator(t)
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), "server", types.MergePatchType, []byte(`{"spec": {"replicas": 3}}`))
	m.looksAgain("operator.v1")
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { container(c).Image = "example.com/server:2" })
	runs(e, "example.com/server:2")
	same(t, "replicas that a client scaled to", *e.deployment("server").Spec.Replicas, 3)
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Replicas = new(int32(2))
	})
	becomes(e, "the new number is stored", func() int32 { return *e.deployment("server").Spec.Replicas }, 2)
	e.succeeds("operator.v1")
}

// What the API server does not let an edit change is reported, and costs no webhook.
func TestEditThatIsRefused(t *testing.T) {
	e, _ := newRunningOperator(t)
	before := e.registration("v.example.com").ResourceVersion
	relabel := func(value string) func(c *operatorsv1alpha1.ClusterServiceVersion) {
		return func(c *operatorsv1alpha1.ClusterServiceVersion) {
			spec := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
			spec.Selector.MatchLabels, spec.Template.Labels = map[string]string{"app": value}, map[string]string{"app": value}
		}
	}
	e.edit("operator.v1", relabel("other"))
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentFailed)
	installtest.Prefix(t, "the message", "install strategy failed: ", message)
	installtest.Contains(t, message, "field is immutable")
	same(t, "status.message, as OLM v0 writes it", e.get("operator.v1").Status.Message, message)
	same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
	e.edit("operator.v1", relabel("server"))
	e.succeeds("operator.v1")
}

// A ClusterServiceVersion may return while what its predecessor of that name left
// waits for the garbage collector, who would take it from the new one.
func TestReinstall(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(bundle())
	e.uninstall("operator.v1")
	e.install(bundle())
	m.looksAgain("operator.v1")
	uid := e.get("operator.v1").UID
	for _, o := range e.owned(derived) {
		for _, owner := range o.GetOwnerReferences() {
			if owner.UID != uid && o.GetKind() != "WebhookRollout" { // which no client misses until it is recreated
				t.Errorf("%s %s is owned by one that no longer exists", o.GetKind(), o.GetName())
			}
		}
	}
	isComplete(e, installed)
}
