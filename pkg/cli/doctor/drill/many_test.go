package drill

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A pod of a custom resource needs the API of its owner: its conversion perhaps, its aggregated API server certainly.
func TestCustomOwners(t *testing.T) {
	owned := `
---
{apiVersion: v1, kind: Pod, metadata: {name: k-1, namespace: b, labels: {app: b}, ownerReferences: [{apiVersion: example.com/v1, kind: Set, name: k, uid: k, controller: true}]}, spec: {}}
`
	conversion := `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sets.example.com}
spec:
  group: example.com
  names: {plural: sets, kind: Set}
  versions: [{name: v1}, {name: v2}]
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: NAME, name: NAME}}}}
`
	aggregated := `
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com, version: v1, service: {namespace: NAME, name: NAME}}}
`
	at := func(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }
	onlyOwned := strings.NewReplacer("replicas: 2", "replicas: 0", "uid: d}, spec: {", "uid: d}, spec: {replicas: 0, ").Replace(operator("b"))
	for name, test := range map[string]struct{ given, want string }{
		"a conversion of another operator":           {operator("a") + operator("b") + at(conversion, "a"), "[a b coredns k] []"},
		"its own conversion":                         {onlyOwned + at(conversion, "b"), "[coredns k] [k?]"},
		"an aggregated API server":                   {operator("a") + operator("b") + at(aggregated, "a"), "[a b coredns k] []"},
		"its own aggregated API server":              {onlyOwned + at(aggregated, "b"), "[coredns] [k]"},
		"an aggregated API server without a Service": {operator("b") + at(aggregated, "c"), "[b coredns] [k]"},
	} {
		p := installtest.OrPanic(Predict(snapshot(t, parse(t, base+test.given+owned))))
		r := summarized(p)
		installtest.Same(t, name, test.want, fmt.Sprint(r.waves, r.never))
	}
}

// ring has operators whose webhooks see the pods of all others.
func ring(n int) string {
	var text strings.Builder
	text.WriteString(base)
	for i := range n {
		name := fmt.Sprintf("op%02d", i)
		text.WriteString(operator(name) + hook(name, except("kube-system", name)))
	}
	return text.String()
}

// The smallest set of changes has one change less than there are operators: each must be left out by all that return later.
func TestManyOperators(t *testing.T) {
	for n, smallest := range map[int]bool{3: true, 4: true, 12: false} {
		objects := parse(t, ring(n))
		p := installtest.OrPanic(Predict(snapshot(t, objects)))
		solution := p.Cycles[0].Solution
		installtest.Same(t, fmt.Sprintf("%d operators: smallest", n), smallest, solution.Smallest)
		if smallest {
			installtest.Same(t, "changes", n-1, len(solution.Changes))
		}
		left := installtest.OrPanic(Predict(snapshot(t, changed(t, objects, solution.Changes))))
		if surely, perhaps := left.Blocked(); surely || perhaps {
			t.Errorf("%d operators: after the changes %+v: %+v", n, solution.Changes, summarized(left))
		}
		for i := range solution.Changes {
			fewer := slices.Delete(slices.Clone(solution.Changes), i, i+1)
			if surely, _ := installtest.OrPanic(Predict(snapshot(t, changed(t, objects, fewer)))).Blocked(); !surely {
				t.Errorf("%d operators: the change %+v is not needed", n, solution.Changes[i])
			}
		}
	}
}

// The picture has one node for the workloads of a Namespace that wait for the same webhooks.
func TestPicture(t *testing.T) {
	given := base + operator("a") + operator("b") + hook("a", except("a", "kube-system")) + `
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b2, namespace: b}, spec: {template: {metadata: {labels: {app: b2}}, spec: {}}}}
`
	picture := installtest.OrPanic(Predict(snapshot(t, parse(t, given)))).Picture()
	var text strings.Builder
	for _, n := range picture.Nodes {
		fmt.Fprintf(&text, "%s %s\n", n.Label, n.State)
	}
	for _, e := range picture.Edges {
		fmt.Fprintf(&text, "%d %d %s\n", e.From, e.To, e.Text)
	}
	installtest.Same(t, "picture", strings.TrimLeft(`
Deployment a/a returns
ValidatingWebhookConfiguration a: webhook a.example.com returns
Service a/a returns
2 workloads in Namespace b returns
3 1 CREATE of pods
1 2 
2 0 
`, "\n"), text.String())
}

// A Namespace that is not in the snapshot is named.
func TestIncompleteDump(t *testing.T) {
	_, err := Predict(snapshot(t, parse(t, strings.Replace(base, "kind: Namespace, metadata: {name: kube-system", "kind: Namespace, metadata: {name: other", 1))))
	installtest.Error(t, `kube-controller-manager: UPDATE of leases.coordination.k8s.io: the Namespace "kube-system" does not exist: the API server refuses the request before it calls webhooks`, err)
}
