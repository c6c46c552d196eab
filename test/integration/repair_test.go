package integration

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Every change by a client of an object of the manager's is undone within a second.
func TestRepair(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := manageByOwnClock(e, cluster.Config())
	stop := m.flows()
	e.install(bundle())
	stop()

	for _, test := range []struct {
		resource, change string
		patch            string // empty to delete
	}{
		{"validatingwebhookconfigurations", "deleted", ""},
		{"validatingwebhookconfigurations", "failurePolicy", `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]`},
		{"validatingwebhookconfigurations", "rules", `[{"op": "replace", "path": "/webhooks/0/rules/0/operations/0", "value": "DELETE"}]`},
		{"validatingwebhookconfigurations", "a rule less", `[{"op": "remove", "path": "/webhooks/0/rules"}]`},
		{"validatingwebhookconfigurations", "a rule more", `[{"op": "add", "path": "/webhooks/0/rules/-", "value": {"operations": ["*"], "apiGroups": ["more.example.com"], "apiVersions": ["*"], "resources": ["*"]}}]`},
		{"validatingwebhookconfigurations", "namespaceSelector", `[{"op": "add", "path": "/webhooks/0/namespaceSelector/matchLabels/other.example.com~1has", "value": "this"}]`},
		{"validatingwebhookconfigurations", "namespaceSelector removed", `[{"op": "remove", "path": "/webhooks/0/namespaceSelector"}]`},
		{"validatingwebhookconfigurations", "objectSelector", `[{"op": "replace", "path": "/webhooks/0/objectSelector", "value": {"matchLabels": {"other.example.com/has": "this"}}}]`},
		{"validatingwebhookconfigurations", "caBundle removed", `[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`},
		{"validatingwebhookconfigurations", "called at a URL", `[{"op": "replace", "path": "/webhooks/0/clientConfig", "value": {"url": "https://webhook.example.com/validate"}}]`},
		{"validatingwebhookconfigurations", "called at another path", `[{"op": "replace", "path": "/webhooks/0/clientConfig/service/path", "value": "/other"}]`},
		{"validatingwebhookconfigurations", "timeoutSeconds", `[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}]`},
		{"validatingwebhookconfigurations", "matchConditions", `[{"op": "add", "path": "/webhooks/0/matchConditions", "value": [{"name": "never", "expression": "false"}]}]`},
		{"validatingwebhookconfigurations", "a second webhook", `[{"op": "copy", "from": "/webhooks/0", "path": "/webhooks/1"}, {"op": "replace", "path": "/webhooks/1/name", "value": "smuggled.example.com"}]`},
		{"validatingwebhookconfigurations", "no webhook", `[{"op": "remove", "path": "/webhooks"}]`},
		{"validatingwebhookconfigurations", "another owner", `[{"op": "replace", "path": "/metadata/labels/olm.owner", "value": "other"}]`},
		{"validatingwebhookconfigurations", "no labels", `[{"op": "remove", "path": "/metadata/labels"}]`},
		{"validatingwebhookconfigurations", "another generation", `[{"op": "replace", "path": "/metadata/annotations/olm-webhook-manager.io~1certificate-generation", "value": "99"}]`},
		{"validatingwebhookconfigurations", "no annotations", `[{"op": "remove", "path": "/metadata/annotations"}]`},
		{"mutatingwebhookconfigurations", "deleted", ""},
		{"mutatingwebhookconfigurations", "reinvocationPolicy", `[{"op": "replace", "path": "/webhooks/0/reinvocationPolicy", "value": "IfNeeded"}]`},
		{"mutatingwebhookconfigurations", "a second webhook", `[{"op": "copy", "from": "/webhooks/0", "path": "/webhooks/1"}, {"op": "replace", "path": "/webhooks/1/name", "value": "smuggled.example.com"}]`},
		{"services", "deleted", ""},
		{"services", "selector", `[{"op": "add", "path": "/spec/selector/other.example.com~1has", "value": "this"}]`},
		{"services", "targetPort", `[{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]`},
		{"services", "a port less", `[{"op": "remove", "path": "/spec/ports/1"}]`},
		{"services", "no labels", `[{"op": "remove", "path": "/metadata/labels"}]`},
		{"deployments", "deleted", ""},
		{"deployments", "image", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example.com/other:1"}]`},
		{"deployments", "certificate of another Secret", `[{"op": "replace", "path": "/spec/template/spec/volumes/1/secret/secretName", "value": "other"}]`},
		{"deployments", "no owner", `[{"op": "remove", "path": "/metadata/ownerReferences"}]`},
		{"roles", "deleted", ""},
		{"roles", "verbs", `[{"op": "add", "path": "/rules/0/verbs/-", "value": "update"}]`},
		{"roles", "another rule", `[{"op": "add", "path": "/rules/-", "value": {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}}]`},
		{"rolebindings", "deleted", ""},
		{"rolebindings", "subjects", `[{"op": "replace", "path": "/subjects/0/name", "value": "other"}]`},
		{"operatorconditions", "deleted", ""},
		{"operatorconditions", "deployments", `[{"op": "replace", "path": "/spec/deployments", "value": ["other"]}]`},
		{"webhookrollouts", "deleted", ""},
	} {
		t.Run(test.resource+", "+test.change, func(t *testing.T) {
			m := m.sub(t)
			client, name := theOnly(m.env, test.resource)
			m.comesBack(client, name, func() {
				if test.patch == "" {
					m.must(client.Delete(m.ctx, name, metav1.DeleteOptions{}))
					return
				}
				// Each client is another one, so that none of them contests.
				_, err := client.Patch(m.ctx, name, types.JSONPatchType, []byte(test.patch), metav1.PatchOptions{FieldManager: "test " + test.change})
				m.must(err)
			})
		})
	}
	m.flows()
	e.succeeds("operator.v1")
	isComplete(e, installed)
}

// What the manager writes into the objects of others returns within a second, too.
func TestRepairOfMarks(t *testing.T) {
	e := newParallelEnv(t)
	group := e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := manageByOwnClock(e, cluster.Config())
	stop := m.flows()
	e.install(csv("operator.v1", "server"))
	stop()
	label := strings.ReplaceAll(labelOf(group), "/", "~1")
	for _, test := range []struct {
		change, resource, name, patch string
		subresources                  []string
	}{
		{"the group's label of a Namespace", "namespaces", e.namespace, `[{"op": "remove", "path": "/metadata/labels/` + label + `"}]`, nil},
		{"the label's value", "namespaces", e.namespace, `[{"op": "replace", "path": "/metadata/labels/` + label + `", "value": "other"}]`, nil},
		{"the group's status", "operatorgroups", "og", `[{"op": "replace", "path": "/status/namespaces", "value": ["other"]}]`, []string{"status"}},
		{"the scope of the ClusterServiceVersion", "clusterserviceversions", "operator.v1", `[{"op": "replace", "path": "/metadata/annotations/olm.targetNamespaces", "value": "other"}]`, nil},
		{"its finalizer", "clusterserviceversions", "operator.v1", `[{"op": "remove", "path": "/metadata/finalizers"}]`, nil},
	} {
		t.Run(test.change, func(t *testing.T) {
			m := m.sub(t)
			var client dynamic.ResourceInterface = m.any.Resource(marked[test.resource])
			if test.resource != "namespaces" {
				client = m.any.Resource(marked[test.resource]).Namespace(m.namespace)
			}
			m.comesBack(client, test.name, func() {
				_, err := client.Patch(m.ctx, test.name, types.JSONPatchType, []byte(test.patch), metav1.PatchOptions{}, test.subresources...)
				m.must(err)
			})
		})
	}
}

var marked = map[string]schema.GroupVersionResource{
	"namespaces":             {Version: "v1", Resource: "namespaces"},
	"operatorgroups":         {Group: "operators.coreos.com", Version: "v1", Resource: "operatorgroups"},
	"clusterserviceversions": {Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"},
}

func sub(t *testing.T, e *env) *env {
	of := *e
	of.T, of.ctx = t, t.Context()
	return &of
}

func (m ownClock) sub(t *testing.T) ownClock {
	of := *m.manager
	of.env = sub(t, m.env)
	return ownClock{&of, m.clock}
}

func theOnly(e *env, resource string) (dynamic.ResourceInterface, string) {
	e.Helper()
	others := map[string]bool{"Deployment operator": true, "Role operator.v1": true, "RoleBinding operator.v1": true}
	for _, o := range e.owned(derived) {
		if strings.EqualFold(o.GetKind()+"s", resource) && !others[o.GetKind()+" "+o.GetName()] {
			return client(e, o), o.GetName()
		}
	}
	e.Fatalf("nothing of %s", resource)
	return nil, ""
}

// comesBack watches an object while a client changes it, and fails when it is not as it was before within a second.
func (m ownClock) comesBack(client dynamic.ResourceInterface, name string, change func()) {
	m.Helper()
	before, err := client.Get(m.ctx, name, metav1.GetOptions{})
	m.must(err)
	want := golden(m.env, *before.DeepCopy())
	w, err := client.Watch(m.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: before.GetResourceVersion()})
	m.must(err)
	defer w.Stop()
	change()
	changed := false
	m.withinASecond(w, func(event watch.Event) (bool, any) {
		now := golden(m.env, *event.Object.(*unstructured.Unstructured))
		changed = changed || event.Type == watch.Deleted || now != want
		return changed && event.Type != watch.Deleted && now == want, fmt.Sprintf("%s, changed: %v; -before +after:\n%s", event.Type, changed, gocmp.Diff(want, now))
	})
}
