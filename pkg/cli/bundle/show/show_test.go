package show

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func read(t *testing.T, example string) *bundle.Bundle {
	t.Helper()
	return installtest.OrPanic(bundle.Inspect("../../../../examples/" + example))
}

func summary(t *testing.T, example string, watch []string) Summary {
	t.Helper()
	b := read(t, example)
	manifests := installtest.OrPanic(bundle.Manifests(b, bundle.Options{}))
	for _, m := range manifests {
		// Also namespaces that the example does not support: what is shown is the OperatorGroup's.
		if m.GetKind() == "OperatorGroup" && watch != nil {
			installtest.Must(t, unstructured.SetNestedStringSlice(m.Object, watch, "spec", "targetNamespaces"))
		}
	}
	return Of(b, manifests)
}

func TestText(t *testing.T) {
	var got bytes.Buffer
	summary(t, "crdconversion/bundle-v2", nil).Print(output.New(&got))
	const want = `crdconversion.v2.0.0, Caches 2.0.0 (../../../../examples/crdconversion/bundle-v2)
can watch: AllNamespaces
replaces: crdconversion.v1.0.0

Webhooks
  TYPE         INTERCEPTS                                WHERE               ON FAILURE   TIMEOUT   NAME
  Conversion   converts caches.crdconversion.example.com   wherever they are   Fail                   caches.crdconversion.example.com

Permissions
`
	// Only the beginning: what follows has the same form, and depends on the example.
	installtest.Same(t, "the output", installtest.Words(want), installtest.Words(got.String())[:len(installtest.Words(want))])
	for _, part := range []string{"1. crdconversion-webhook, ", "└─ serves, then goes live: caches.crdconversion.example.com", "  ↓\n", "v2 (stored)"} {
		installtest.Contains(t, got.String(), part)
	}
}

func TestWhatIsInterceptedWhere(t *testing.T) {
	for name, c := range map[string]struct {
		example string
		watch   []string
		want    Webhook
	}{
		"Namespaces themselves": {"projectpolicy/bundle", nil, Webhook{
			Type: "Validating", Name: "namespaces.projectpolicy.example.com", Deployment: "projectpolicy-webhook", Intercepts: []string{"CREATE,UPDATE namespaces", "UPDATE namespaces/status, namespaces/finalize"},
			Where: "every Namespace, if kubernetes.io/metadata.name notin (default,kube-node-lease,kube-public,kube-system)", OnFailure: "Fail", TimeoutSeconds: 5,
		}},
		"one Namespace itself": {"projectpolicy/bundle", []string{"shop"}, Webhook{
			Type: "Validating", Name: "namespaces.projectpolicy.example.com", Deployment: "projectpolicy-webhook", Intercepts: []string{"CREATE,UPDATE namespaces", "UPDATE namespaces/status, namespaces/finalize"},
			Where: "the Namespace shop once it is labelled, if kubernetes.io/metadata.name notin (default,kube-node-lease,kube-public,kube-system)", OnFailure: "Fail", TimeoutSeconds: 5,
		}},
		"two Namespaces themselves": {"projectpolicy/bundle", []string{"a", "b"}, Webhook{
			Type: "Validating", Name: "namespaces.projectpolicy.example.com", Deployment: "projectpolicy-webhook", Intercepts: []string{"CREATE,UPDATE namespaces", "UPDATE namespaces/status, namespaces/finalize"},
			Where: "the Namespaces a, b once they are labelled, if kubernetes.io/metadata.name notin (default,kube-node-lease,kube-public,kube-system)", OnFailure: "Fail", TimeoutSeconds: 5,
		}},
		"cluster-scoped objects": {"volumelabels/bundle-one-process", nil, Webhook{
			Type: "Mutating", Name: "persistentvolumes.volumelabels.example.com", Deployment: "volumelabels", Intercepts: []string{"CREATE persistentvolumes"},
			Where: "in the whole cluster", OnFailure: "Ignore", TimeoutSeconds: 5,
		}},
		"pods of its own namespace": {"poddefaults/bundle", nil, Webhook{
			Type: "Mutating", Name: "pods.poddefault.admission.kubeflow.org", Deployment: "poddefaults-webhook", Intercepts: []string{"CREATE pods"},
			Where: "in poddefaults, if app.kubernetes.io/name notin (poddefaults)", OnFailure: "Fail", TimeoutSeconds: 5,
		}},
		"pods of two namespaces": {"poddefaults/bundle", []string{"a", "b"}, Webhook{
			Type: "Mutating", Name: "pods.poddefault.admission.kubeflow.org", Deployment: "poddefaults-webhook", Intercepts: []string{"CREATE pods"},
			Where: "in a, b, if app.kubernetes.io/name notin (poddefaults)", OnFailure: "Fail", TimeoutSeconds: 5,
		}},
	} {
		installtest.Same(t, name+": webhooks", []Webhook{c.want}, summary(t, c.example, c.watch).Webhooks)
	}
}

func TestGraphs(t *testing.T) {
	s := Summary{Name: "shop", Rollout: []Step{
		{Deployment: "first", Webhooks: []string{"a.example.com", "b.example.com"}}, {Deployment: "second"}, {Deployment: "third"},
	}}
	for name, c := range map[string]struct {
		write func(output.Writer)
		want  string
	}{
		"mermaid": {s.Mermaid, `flowchart TD
  d0["first"]
  w0_0(["a.example.com"])
  d0 --> w0_0
  w0_1(["b.example.com"])
  d0 --> w0_1
  d1["second"]
  w0_0 --> d1
  w0_1 --> d1
  d2["third"]
  d1 --> d2
`},
		"dot": {s.Dot, `digraph "shop" {
  d0 [label="first", shape=box];
  w0_0 [label="a.example.com", shape=ellipse];
  d0 -> w0_0;
  w0_1 [label="b.example.com", shape=ellipse];
  d0 -> w0_1;
  d1 [label="second", shape=box];
  w0_0 -> d1;
  w0_1 -> d1;
  d2 [label="third", shape=box];
  d1 -> d2;
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			c.write(output.New(&got))
			installtest.Same(t, "printed", c.want, got.String())
		})
	}
}

func TestPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		example string
		watch   []string
		want    [][]string
	}{
		// What OLM v0 grants by a ClusterRole is granted in the cluster.
		"all namespaces": {"volumelabels/bundle-one-process", nil, [][]string{
			{"volumelabels-controller", "cluster", "get,list,watch,patch", "persistentvolumes"},
			{"volumelabels-controller", "cluster", "create,get,update", "leases.coordination.k8s.io"},
			{"volumelabels-controller", "cluster", "get,list,watch", "namespaces"},
		}},
	} {
		got := rows(summary(t, c.example, c.watch).Permissions)
		installtest.Same(t, name+": show", c.want, got)
	}
}

// A webhook that the config of the Subscription disables is not called.
func TestDisabledWebhook(t *testing.T) {
	b := read(t, "poddefaults/bundle")
	const name = "pods.poddefault.admission.kubeflow.org"
	config := &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{wellknown.AnnotationDisabledWebhooks: name}}
	var got bytes.Buffer
	Of(b, installtest.OrPanic(bundle.Manifests(b, bundle.Options{Config: config}))).PrintNotice(output.New(&got))
	installtest.Contains(t, got.String(), name+" (disabled by the config of Subscription poddefaults)")
}
