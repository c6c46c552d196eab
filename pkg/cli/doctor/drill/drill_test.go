package drill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// base is a cluster with one Node, DNS, and a controller manager that elects a leader.
const base = `
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, labels: {kubernetes.io/metadata.name: kube-system}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease, labels: {kubernetes.io/metadata.name: kube-node-lease}}}
---
{apiVersion: v1, kind: Node, metadata: {name: one, labels: {kubernetes.io/hostname: one}}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: one, namespace: kube-node-lease}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kube-controller-manager, namespace: kube-system}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kube-scheduler, namespace: kube-system}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: replicaset-controller, namespace: kube-system}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: coredns, namespace: kube-system}, spec: {template: {metadata: {labels: {k8s-app: kube-dns}}, spec: {}}}}
`

// operator is a Namespace with a Deployment and a Service of the same name.
func operator(name string) string {
	return strings.ReplaceAll(`
---
{apiVersion: v1, kind: Namespace, metadata: {name: NAME, labels: {kubernetes.io/metadata.name: NAME}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: NAME, uid: d}, spec: {template: {metadata: {labels: {app: NAME}}, spec: {}}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: NAME-5d4f, namespace: NAME, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: NAME, uid: d, controller: true}]}
spec: {replicas: 2, template: {metadata: {labels: {app: NAME, pod-template-hash: 5d4f}}, spec: {}}}
---
{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: NAME}, spec: {clusterIP: 10.0.0.1, selector: {app: NAME}}}
`, "NAME", name)
}

const declaredByCSV = "metadata: {name: a, labels: {olm.owner: a.v1, olm.owner.namespace: a}}"

const podsRule = `[{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`

// hook is a configuration with one webhook of an operator. Without rules, it sees the creation of pods.
func hook(operator string, fields ...string) string {
	text := fmt.Sprintf(`
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: %[1]s.example.com
  clientConfig: {service: {namespace: %[1]s, name: %[1]s}}
`, operator)
	for _, field := range []string{"rules: " + podsRule, "namespaceSelector: {}", "objectSelector: {}"} {
		name, _, _ := strings.Cut(field, " ")
		if !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, name) }) {
			fields = append(fields, field)
		}
	}
	for _, field := range fields {
		text += "  " + field + "\n"
	}
	return text
}

// except is a namespaceSelector that leaves out Namespaces.
func except(namespaces ...string) string {
	return "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [" + strings.Join(namespaces, ", ") + "]}]}"
}

const proxy = `
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: kube-proxy, namespace: kube-system}, spec: {template: {metadata: {labels: {k8s-app: kube-proxy}}, spec: {hostNetwork: true}}}}
`

const network = `
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: flannel, namespace: kube-system}
spec: {template: {metadata: {labels: {app: flannel}}, spec: {hostNetwork: true, volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}]}}}
`

// chained is a DaemonSet that adds a plugin to the network, and has a pod network itself.
const chained = `
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: bandwidth, namespace: kube-system}
spec: {template: {metadata: {labels: {app: bandwidth}}, spec: {volumes: [{name: cni, hostPath: {path: /opt/cni/bin}}]}}}
`

func parse(t *testing.T, text string) []unstructured.Unstructured {
	t.Helper()
	return installtest.OrPanic(explain.Objects([]byte(text)))
}

func snapshot(t *testing.T, objects []unstructured.Unstructured) Snapshot {
	t.Helper()
	var s Snapshot
	for _, o := range objects {
		installtest.Must(t, s.Add(o))
	}
	return s
}

// result is a prediction in few words.
type result struct {
	waves         []string // the workloads of each
	never         []string // workloads, Nodes and the control plane; "?" if perhaps
	cycles        [][]string
	deadEnds      []string
	changes       []string // of all cycles and dead ends
	surely, maybe bool
}

func short(p Part) string {
	switch {
	case p.Webhook != "":
		return p.Webhook
	case p.Kind == "Service":
		return "Service " + p.Name
	case p.Kind == Nodes:
		return "Nodes"
	default:
		return p.Name
	}
}

func summarized(p Prediction) result {
	var r result
	for _, wave := range p.Waves {
		r.waves = append(r.waves, strings.Join(lists.Map(lists.Filter(wave.Parts, Part.IsWorkload), short), " "))
	}
	for _, s := range p.Never {
		if s.IsWorkload() || s.Kind == ControlPlane || s.Kind == "Node" {
			r.never = append(r.never, short(s.Part)+map[bool]string{false: "?"}[s.Certain])
		}
	}
	add := func(s Solution) {
		for _, c := range s.Changes {
			r.changes = append(r.changes, c.Webhook.Webhook+" "+string(c.Kind)+" "+strings.Join(c.namespaces, ",")+c.key)
		}
	}
	for _, c := range p.Cycles {
		r.cycles = append(r.cycles, lists.Map(c.Parts, func(s Stuck) string { return short(s.Part) }))
		add(c.Solution)
	}
	for _, e := range p.DeadEnds {
		r.deadEnds = append(r.deadEnds, e.Webhook.Webhook+": "+short(e.Part)+": "+e.Because)
		add(e.Solution)
	}
	r.surely, r.maybe = p.Blocked()
	return r
}

func TestPredict(t *testing.T) {
	nodesRule := `rules: [{operations: [UPDATE], apiGroups: ["", coordination.k8s.io], apiVersions: [v1], resources: [nodes/status, leases]}]`
	for name, test := range map[string]struct {
		given string
		want  result
	}{
		"no webhook": {operator("a"), result{waves: []string{"a coredns"}}},
		"it sees its own pods": {operator("a") + hook("a"), result{
			never: []string{"a", "coredns"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"failurePolicy Ignore":               {operator("a") + hook("a", "failurePolicy: Ignore"), result{waves: []string{"a coredns"}}},
		"it leaves out its own Namespace":    {operator("a") + hook("a", except("a")), result{waves: []string{"a", "coredns"}}},
		"its objectSelector leaves out pods": {operator("a") + hook("a", "objectSelector: {matchLabels: {app: b}}"), result{waves: []string{"a coredns"}}},
		"its matchCondition leaves out the controller": {
			operator("a") + hook("a", `matchConditions: [{name: c, expression: 'request.userInfo.username != "system:serviceaccount:kube-system:replicaset-controller" || request.namespace != "a"'}]`),
			result{waves: []string{"a", "coredns"}},
		},
		"its matchCondition leaves out a tenant": {
			operator("a") + hook("a", `matchConditions: [{name: c, expression: 'request.userInfo.username != "alice"'}]`),
			result{never: []string{"a", "coredns"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true},
		},
		"a chain": {operator("a") + operator("b") + operator("c") + hook("a", except("a")) + hook("b", except("a", "b")), result{waves: []string{"a", "b", "c coredns"}}},
		"two that see each other's pods": {operator("a") + operator("b") + hook("a", except("a", "kube-system")) + hook("b", except("b", "kube-system")), result{
			waves: []string{"coredns"}, never: []string{"a", "b"}, cycles: [][]string{{"a", "b", "a.example.com", "Service a", "b.example.com", "Service b"}},
			changes: []string{"a.example.com NamespaceSelector b"}, surely: true,
		}},
		"two that see all pods": {operator("a") + operator("b") + hook("a", except("kube-system")) + hook("b", except("kube-system")), result{
			waves: []string{"coredns"}, never: []string{"a", "b"}, cycles: [][]string{{"a", "b", "a.example.com", "Service a", "b.example.com", "Service b"}},
			changes: []string{"a.example.com NamespaceSelector a", "b.example.com NamespaceSelector a,b"}, surely: true,
		}},
		"it sees the network": {operator("a") + network + hook("a", except("a")), result{
			never: []string{"flannel", "a", "coredns"}, cycles: [][]string{{"flannel", "a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector kube-system"}, surely: true,
		}},
		"a DaemonSet on the network of pods extends it": {operator("a") + network + chained + hook("a", except("kube-system")), result{
			waves: []string{"bandwidth flannel coredns"}, never: []string{"a"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"it sees kube-proxy": {operator("a") + proxy + hook("a", except("a")), result{
			waves: []string{"a"}, never: []string{"kube-proxy", "coredns"}, cycles: [][]string{{"kube-proxy", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector kube-system"}, surely: true,
		}},
		"it sees Nodes and Leases": {operator("a") + hook("a", nodesRule), result{
			never:   []string{"kube-controller-manager", "kube-scheduler", "a", "coredns", "one"},
			cycles:  [][]string{{"kube-controller-manager", "kube-scheduler", "Nodes", "a", "a.example.com", "Service a", "one"}},
			changes: []string{"a.example.com FailurePolicy "}, surely: true,
		}},
		"it sees Nodes": {operator("a") + hook("a", `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [nodes/*]}]`), result{
			never: []string{"a", "coredns", "one"}, cycles: [][]string{{"Nodes", "a", "a.example.com", "Service a", "one"}}, changes: []string{"a.example.com MatchCondition "}, surely: true,
		}},
		"it sees the tokens of controllers": {
			operator("a") + hook("a", except("a"), `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [serviceaccounts/token]}]`), result{
				never: []string{"kube-controller-manager", "a", "coredns", "one"}, cycles: [][]string{{"kube-controller-manager", "Nodes", "a", "a.example.com", "Service a", "one"}}, changes: []string{"a.example.com NamespaceSelector kube-system"}, surely: true,
			},
		},
		"it sees bindings": {operator("a") + hook("a", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods/binding]}]`), result{
			never: []string{"a", "coredns"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"it sees EndpointSlices": {operator("a") + hook("a", `rules: [{operations: ["*"], apiGroups: [discovery.k8s.io], apiVersions: [v1], resources: [endpointslices]}]`), result{
			waves: []string{"a coredns"}, cycles: [][]string{{"a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"it sees quotas": {
			operator("a") + `
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: a}, spec: {hard: {pods: "5"}}}
` + hook("a", `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [resourcequotas/status]}]`), result{
				waves: []string{"coredns"}, never: []string{"a"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
			},
		},
		"outside of the cluster": {operator("a") + strings.Replace(hook("a"), "{service: {namespace: a, name: a}}", `{url: "https://policy.example.com"}`, 1), result{waves: []string{"a coredns"}}},
		"a Service without a selector": {operator("a") + strings.Replace(hook("a"), "name: a}}", "name: b}}", 1) + `
---
{apiVersion: v1, kind: Service, metadata: {name: b, namespace: a}, spec: {clusterIP: 10.0.0.2}}
`, result{waves: []string{"a coredns"}}},
		"no Service": {operator("a") + strings.Replace(hook("a"), "name: a}}", "name: b}}", 1), result{
			never: []string{"a", "coredns"}, deadEnds: []string{"a.example.com: Service b: it does not exist"}, changes: []string{"a.example.com NamespaceSelector a,kube-system"}, surely: true,
		}},
		"no pods": {strings.ReplaceAll(operator("a"), "replicas: 2", "replicas: 0") + operator("b") + hook("a", except("kube-system")), result{
			waves: []string{"coredns"}, never: []string{"a", "b"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"a bare pod": {operator("a") + `
---
{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: a, labels: {app: bare}}, spec: {}}
---
{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: a}, spec: {clusterIP: 10.0.0.2, selector: {app: bare}}}
` + strings.Replace(hook("a", except("kube-system")), "name: a}}", "name: bare}}", 1), result{
			waves: []string{"coredns"}, never: []string{"a", "bare"}, deadEnds: []string{"a.example.com: bare: it has no controller that creates it again"},
			changes: []string{"a.example.com NamespaceSelector a"}, surely: true,
		}},
		"a static pod": {operator("a") + `
---
{apiVersion: v1, kind: Pod, metadata: {name: static, namespace: kube-system, labels: {app: s}, annotations: {kubernetes.io/config.mirror: x}}, spec: {hostNetwork: true, nodeName: one}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: kube-system}, spec: {clusterIP: 10.0.0.2, selector: {app: s}}}
` + strings.Replace(hook("a", except("kube-system")), "namespace: a, name: a}}", "namespace: kube-system, name: s}}", 1), result{waves: []string{"coredns static", "a"}}},
		"a Job, and an owner whose controller is not known": {operator("a") + `
---
{apiVersion: v1, kind: Pod, metadata: {name: j-1, namespace: a, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: k-1, namespace: a, ownerReferences: [{apiVersion: example.com/v1, kind: Set, name: k, uid: k, controller: true}]}, spec: {}}
` + hook("a", except("kube-system"), "objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}") + strings.Replace(hook("b", except("kube-system"), "objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}"), "namespace: b, name: b}}", "namespace: x, name: b}}", 1), result{
			waves: []string{"a coredns", "k"}, never: []string{"j", "k?"}, deadEnds: []string{"b.example.com: Service b: it does not exist"},
			changes: []string{"b.example.com NamespaceSelector a"}, surely: true, maybe: true,
		}},
		"the authorizer is asked": {operator("a") + hook("a", except("kube-system"), `matchConditions: [{name: c, expression: 'authorizer.group("").resource("pods").namespace("a").check("get").allowed()'}]`), result{
			waves: []string{"a coredns"}, never: []string{"a?"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com NamespaceSelector a"}, maybe: true,
		}},
		"a condition that fails": {operator("a") + hook("a", except("kube-system"), `matchConditions: [{name: c, expression: 'object.metadata.annotations["x"] == "y"'}]`), result{
			waves: []string{"coredns"}, never: []string{"a"},
		}},
		"a ClusterServiceVersion declares it": {operator("a") + strings.Replace(hook("a"), "metadata: {name: a}", declaredByCSV, 1), result{
			never: []string{"a", "coredns"}, cycles: [][]string{{"a", "a.example.com", "Service a"}}, changes: []string{"a.example.com MatchCondition a"}, surely: true,
		}},
		"the controller manager has one user": {
			strings.Replace(base, "name: replicaset-controller", "name: default", 1) + operator("a") + hook("a", `matchConditions: [{name: c, expression: 'request.userInfo.username != "system:kube-controller-manager"'}]`),
			result{waves: []string{"a coredns"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := test.given
			if !strings.Contains(given, "kind: Node,") {
				given = base + given
			}
			objects := parse(t, given)
			p := installtest.OrPanic(Predict(snapshot(t, objects)))
			installtest.Same(t, "prediction", fmt.Sprintf("%+v", test.want), fmt.Sprintf("%+v", summarized(p)))
			afterChanges(t, objects, p)
		})
	}
}

// afterChanges makes the proposed changes, and every set of alternatives, and expects that nothing is left of the cycles.
func afterChanges(t *testing.T, objects []unstructured.Unstructured, p Prediction) {
	t.Helper()
	solutions := append(lists.Map(p.Cycles, func(c Cycle) Solution { return c.Solution }), lists.Map(p.DeadEnds, func(e DeadEnd) Solution { return e.Solution })...)
	if len(solutions) != 1 {
		return
	}
	for _, changes := range append([][]Change{solutions[0].Changes}, solutions[0].Alternatives...) {
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Command == "" }) {
			continue
		}
		left := installtest.OrPanic(Predict(snapshot(t, changed(t, objects, changes))))
		if surely, perhaps := left.Blocked(); len(left.Cycles) > 0 || len(p.DeadEnds) > 0 && (surely || perhaps) {
			t.Errorf("after the changes %+v: %+v", changes, summarized(left))
		}
		for i := range changes {
			fewer := slices.Delete(slices.Clone(changes), i, i+1)
			left := installtest.OrPanic(Predict(snapshot(t, changed(t, objects, fewer))))
			if surely, perhaps := left.Blocked(); !surely && !perhaps {
				t.Errorf("the change %+v is not needed", changes[i])
			}
		}
	}
}

// changed makes changes as their commands do.
func changed(t *testing.T, objects []unstructured.Unstructured, changes []Change) []unstructured.Unstructured {
	t.Helper()
	objects = lists.Map(objects, func(o unstructured.Unstructured) unstructured.Unstructured { return *o.DeepCopy() })
	for _, c := range changes {
		_, text, _ := strings.Cut(c.Command, "-p '")
		var patch []operation
		installtest.Must(t, json.Unmarshal([]byte(strings.TrimSuffix(text, "'")), &patch))
		i := slices.IndexFunc(objects, func(o unstructured.Unstructured) bool {
			return o.GetKind() == c.Webhook.Kind && o.GetName() == c.Webhook.Name
		})
		webhooks := objects[i].Object["webhooks"].([]any)
		for _, op := range patch {
			field := strings.TrimPrefix(op.Path, "/webhooks/0/")
			if op.Op == "test" {
				installtest.Same(t, op.Path, op.Value, webhooks[0].(map[string]any)[field])
				continue
			}
			webhooks[0].(map[string]any)[field] = op.Value
		}
	}
	return objects
}
