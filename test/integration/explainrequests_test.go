package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// generator makes requests, and the webhooks and policies that may see them. The same seed makes the same ones.
type generator struct {
	*env
	random     *rand.Rand
	server     *recorder
	namespaces []string
	group      string // of the custom resources
}

// generated is a request of a test, with a name that no other one has.
type generated struct {
	explain.Request
	name string
}

func (r generated) userAgent(e *env) string { return e.namespace + "/" + r.name }

// explained labels the Namespaces of the test, and the objects without one.
const explained = "explained"

func newGenerator(e *env) *generator {
	e.Helper()
	const seed = 23
	g := &generator{env: e, random: rand.New(rand.NewPCG(seed, seed)), server: newRecorder(e), group: e.namespace + ".example.com"}
	for _, tier := range []string{"gold", "silver", ""} {
		labels := map[string]string{explained: e.namespace}
		if tier != "" {
			labels["tier"] = tier
		}
		g.namespaces = append(g.namespaces, newNamespace(e, e.namespace+"-"+tier+"x", labels))
	}
	g.define("widgets", apiextensionsv1.NamespaceScoped, "v1alpha1", "v1")
	g.define("gauges", apiextensionsv1.ClusterScoped, "v1")
	g.permit()
	g.params()
	return g
}

// define creates a definition whose objects have a default, and a version that is not served.
func (g *generator) define(plural string, scope apiextensionsv1.ResourceScope, versions ...string) {
	g.Helper()
	kind := strings.ToUpper(plural[:1]) + plural[1:len(plural)-1]
	crd := things(g.env, plural, append([]string{"v0"}, versions...)...)
	crd.Spec.Scope = scope
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Served = v.Name != "v0"
		v.Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte("{}")}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"size": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("3")}},
			}},
		}}
	}
	g.temporaryDefinition(crd)
}

// permit lets a group write the objects of the test, and nothing else.
func (g *generator) permit() {
	g.Helper()
	meta := metav1.ObjectMeta{Name: "explained-" + g.namespace}
	kube.CreateTemporary(g, g.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", g.group, "events.k8s.io", "admissionregistration.k8s.io"}, Resources: []string{"configmaps", "widgets", "gauges", "events", "namespaces", "validatingwebhookconfigurations"},
			Verbs: []string{"create", "update", "delete", "get"}},
	}})
	kube.CreateTemporary(g, g.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "writers-" + g.namespace}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})
}

func pick[T any](g *generator, from ...T) T { return from[g.random.IntN(len(from))] }

func (g *generator) users() []explain.User {
	return []explain.User{
		explain.Impersonated("alice", []string{"writers-" + g.namespace}),
		explain.Impersonated("bob", []string{"writers-" + g.namespace, "developers"}),
		explain.Impersonated("system:serviceaccount:"+g.namespace+":builder", []string{"system:masters"}),
	}
}

// requests are made before any webhook is registered: they need stored objects.
func (g *generator) requests(n int) []generated {
	g.Helper()
	var all []generated
	for i := range n {
		r := generated{name: fmt.Sprintf("%s-%s-%d", pick(g, "a", "b"), g.namespace, i)}
		object := g.object(r.name)
		r.Operation = pick(g, admissionregistrationv1.Create, admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)
		if kind := object.GetKind(); kind == "Namespace" || kind == "ValidatingWebhookConfiguration" {
			r.Operation = pick(g, admissionregistrationv1.Create, admissionregistrationv1.Update)
		}
		if r.Operation == admissionregistrationv1.Create && slices.Contains([]string{"ConfigMap", "Widget", "Gauge"}, object.GetKind()) && g.random.IntN(3) == 0 {
			object.SetName("")
			object.SetGenerateName(r.name + "-")
		}
		r.User = pick(g, g.users()...)
		if r.Operation != admissionregistrationv1.Create {
			stored := object.DeepCopy()
			label(stored, "tier", pick(g, "gold", "silver", ""))
			_, err := clientFor(g.any, stored).Create(g.ctx, stored, metav1.CreateOptions{})
			g.must(err)
		}
		if r.Object = object; object.GetKind() == "Namespace" || object.GetKind() == "ValidatingWebhookConfiguration" {
			g.Cleanup(func() { g.remove(object) })
		}
		all = append(all, r)
	}
	return all
}

func label(o *unstructured.Unstructured, key, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	if delete(labels, key); value != "" {
		labels[key] = value
	}
	o.SetLabels(labels)
}

func (g *generator) object(name string) *unstructured.Unstructured {
	kind := pick(g,
		schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		schema.GroupVersionKind{Group: g.group, Version: "v1alpha1", Kind: "Widget"}, schema.GroupVersionKind{Group: g.group, Version: "v1alpha1", Kind: "Widget"},
		schema.GroupVersionKind{Group: g.group, Version: "v1", Kind: "Widget"}, schema.GroupVersionKind{Group: g.group, Version: "v1", Kind: "Gauge"},
		schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
		schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		schema.GroupVersionKind{Version: "v1", Kind: "Event"},
	)
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	label(o, explained, g.namespace)
	label(o, "tier", pick(g, "gold", "silver", ""))
	if !slices.Contains([]string{"Namespace", "Gauge", "ValidatingWebhookConfiguration"}, kind.Kind) {
		o.SetNamespace(pick(g, g.namespaces...))
	}
	switch kind.Kind {
	case "ConfigMap":
		o.Object["data"] = map[string]any{"mode": pick(g, "on", "off")}
	case "Widget", "Gauge":
		if pick(g, true, false) {
			o.Object["spec"] = map[string]any{"size": int64(g.random.IntN(6))}
		}
	case "Event":
		o.Object["involvedObject"] = map[string]any{"kind": "Pod", "namespace": o.GetNamespace(), "name": "pod"}
	}
	return o
}

// resolve fills in what the command reads of the cluster.
func (r *generated) resolve(e *env, reader *clusterpkg.Cluster, s explain.Snapshot) {
	e.Helper()
	resource, known := s.Find(r.Object.GroupVersionKind())
	if r.Resource = resource; !known {
		e.Fatalf("%s is not served", r.Object.GroupVersionKind())
	}
	if r.Operation != admissionregistrationv1.Create {
		r.Old = installtest.OrPanic(reader.Stored(e.ctx, r.Resource, r.Object.GetNamespace(), r.Object.GetName()))
		r.Object.SetResourceVersion(r.Old.GetResourceVersion())
	}
}

// send sends a request as its user.
func (g *generator) send(r generated) observed {
	g.Helper()
	config := cluster.Config()
	config.UserAgent, config.QPS = r.userAgent(g.env), -1
	config.Impersonate = rest.ImpersonationConfig{UserName: r.User.Name, Groups: r.User.Groups}
	client := clientFor(installtest.OrPanic(dynamic.NewForConfig(config)), r.Object)
	g.server.calls()
	var o observed
	var answer *unstructured.Unstructured
	switch r.Operation {
	case admissionregistrationv1.Create:
		answer, o.err = client.Create(g.ctx, r.Object, metav1.CreateOptions{})
	case admissionregistrationv1.Update:
		answer, o.err = client.Update(g.ctx, r.Object, metav1.UpdateOptions{})
	default:
		o.err = client.Delete(g.ctx, r.name, metav1.DeleteOptions{})
	}
	if o.calls = g.server.calls(); o.err == nil && answer != nil {
		o.evaluated = strings.FieldsFunc(answer.GetAnnotations()["seen"], func(r rune) bool { return r == ' ' })
		slices.Sort(o.evaluated)
	}
	return o
}

// clientFor returns the client of the resource of an object.
func clientFor(all dynamic.Interface, o *unstructured.Unstructured) dynamic.ResourceInterface {
	resource := explain.Guess(o).GroupVersionResource
	if o.GetNamespace() == "" {
		return all.Resource(resource)
	}
	return all.Resource(resource).Namespace(o.GetNamespace())
}
