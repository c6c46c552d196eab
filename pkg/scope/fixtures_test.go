package scope

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// The cluster of these tests has an operator in the namespace "own" and teams in
// "red" and "blue", which are labelled team=<name>.
var cluster = []*corev1.Namespace{
	namespaceOf("red", "team", "red"),
	namespaceOf("own"),
	namespaceOf("blue", "team", "blue"),
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The label of groupOf("a", …).
const labelA = "olm.operatorgroup.uid/uid-of-a"

func namespaceOf(name string, labels ...string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	return namespace
}

// groupOf is an OperatorGroup in the namespace "own", for all namespaces unless the spec is changed.
func groupOf(name string, changes ...func(*operatorsv1.OperatorGroup)) *operatorsv1.OperatorGroup {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: "own", Name: name, UID: types.UID("uid-of-" + name),
	}}
	for _, change := range changes {
		change(group)
	}
	return group
}

func scopeOf(t *testing.T, group *operatorsv1.OperatorGroup) Scope {
	t.Helper()
	scope, failure := ForNamespace(group.Namespace, []*operatorsv1.OperatorGroup{group}, cluster)
	if failure != nil {
		t.Fatal(failure.Message)
	}
	return scope
}

func targeting(names ...string) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) { group.Spec.TargetNamespaces = names }
}

func selecting(selector metav1.LabelSelector) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) { group.Spec.Selector = &selector }
}

func deleted(group *operatorsv1.OperatorGroup) {
	group.DeletionTimestamp = &metav1.Time{Time: noon}
}

func team(name string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"team": name}}
}

func where(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: operator, Values: values},
	}}
}

var (
	anyTeam         = where("team", metav1.LabelSelectorOpExists)
	invalidSelector = where("team", "Like", "r*")
)

// same fails the test if two values differ. installtest.Same is not used here, because its package uses this one.
func same(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
