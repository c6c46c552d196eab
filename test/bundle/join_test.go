package bundle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cluster"
)

// An operator that comes into the namespace of another leaves that one's group as it is.
func TestInstallationsJoinAGroup(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, "joined")
	for _, text := range []string{
		`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: shop, namespace: joined}, spec: {targetNamespaces: [joined, stock]}}`,
		`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1, namespace: joined}, spec: {displayName: Shop, install: {strategy: deployment, spec: {deployments: []}}}}`,
	} {
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), object))
		must(t, e.create(t.Context(), object, false))
	}
	c, err := clusterpkg.New(cluster.Config())
	must(t, err)
	for name, test := range map[string]struct {
		csv          string // a .v2 replaces its .v1
		chosen, want []string
		err          string
	}{
		"another, of its own namespaces":   {"checks.v1", []string{"other"}, nil, "OperatorGroup joined/shop is for joined, stock, and so is shop.v1"},
		"another, of all namespaces":       {"checks.v1", []string{""}, nil, "use another namespace"},
		"another, without a word":          {"checks.v1", nil, []string{"joined", "stock"}, ""},
		"another, of the same namespaces":  {"checks.v1", []string{"stock", "joined"}, []string{"stock", "joined"}, ""},
		"the same again, without a word":   {"shop.v1", nil, []string{"joined", "stock"}, ""},
		"the same again, of others":        {"shop.v1", []string{"other"}, []string{"other"}, ""},
		"its next version, of others":      {"shop.v2", []string{"other"}, []string{"other"}, ""},
		"another's next version, of other": {"checks.v2", []string{"other"}, nil, "so is shop.v1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bundle.Bundle{CSV: &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: test.csv}}}
			if name, second := strings.CutSuffix(test.csv, ".v2"); second {
				b.CSV.Spec.Replaces = name + ".v1"
			}
			o := bundle.Options{Namespace: "joined", Watch: test.chosen}
			kept, err := c.Join(t.Context(), b, &o)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got %v, want %q", err, test.err)
			}
			if !slices.Equal(o.Watch, test.want) {
				t.Errorf("it watches %q, want %q", o.Watch, test.want)
			}
			if said := kept != ""; said != (test.chosen == nil) {
				t.Errorf("people are told %q", kept)
			}
		})
	}
}

// The group of another operator is used and not written: who applies it next finds no field
// of it in other hands.
func TestInstallationsLeaveAGroupAsItIs(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, "kept")
	group := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: shop, namespace: kept, labels: {team: shop}}}`), group))
	must(t, e.create(t.Context(), group, false))
	resource, err := e.resource(group)
	must(t, err)
	before, err := resource.Get(t.Context(), "shop", metav1.GetOptions{})
	must(t, err)

	c, err := clusterpkg.New(cluster.Config())
	must(t, err)
	b, o := edited(t, proof{example: admission}), bundle.Options{Namespace: "kept"}
	kept, err := c.Join(t.Context(), b, &o)
	must(t, err)
	manifests, err := bundle.Manifests(b, o)
	must(t, err)
	i := clusterpkg.Installation{Bundle: b, Manifests: manifests, Kept: kept, Patience: time.Millisecond, Say: t.Logf}
	must(t, c.Adopt(t.Context(), i))
	applied, err := c.Install(t.Context(), i)
	for _, object := range applied[1:] { // in the Namespace, which is first
		resource, err := e.resource(object)
		must(t, err)
		t.Cleanup(func() { e.remove(t, resource, object.GetName()) })
	}
	// No manager is there to go on.
	if err == nil || !strings.Contains(err.Error(), "no manager has looked") || len(applied) != len(manifests)-1 {
		t.Errorf("of %d manifests %d are applied: %v", len(manifests), len(applied), err)
	}
	after, err := resource.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if diff := cmp.Diff([]unstructured.Unstructured{*before}, after.Items); diff != "" {
		t.Errorf("the groups of the namespace (-before +after):\n%s", diff)
	}
}
