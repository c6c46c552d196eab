package scope

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestNamespaceLabels(t *testing.T) {
	const (
		labelB    = "olm.operatorgroup.uid/uid-of-b"
		labelGone = "olm.operatorgroup.uid/uid-of-gone"
	)
	for name, test := range map[string]struct {
		groups                            []*operatorsv1.OperatorGroup
		namespace                         *corev1.Namespace
		wantAdd, wantRemove, wantOrphaned []string
	}{
		"a namespace of no group": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("blue"))},
			namespace: namespaceOf("red", "team", "red"),
		},
		"named, without the label": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red", "red"))},
			namespace: namespaceOf("red"), wantAdd: []string{labelA},
		},
		"named, without any labels": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red"))},
			namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "red"}},
			wantAdd:   []string{labelA},
		},
		"named, with the label": {groups: []*operatorsv1.OperatorGroup{groupOf("a", targeting("red"))}, namespace: namespaceOf("red", labelA, "")},
		"named, with another value": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red"))},
			namespace: namespaceOf("red", labelA, "yes"), wantAdd: []string{labelA},
		},
		"selected": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", selecting(anyTeam))},
			namespace: namespaceOf("red", "team", "red"), wantAdd: []string{labelA},
		},
		"not selected any more": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", selecting(team("blue")))},
			namespace: namespaceOf("red", "team", "red", labelA, ""), wantRemove: []string{labelA},
		},
		"selected, but names win": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("blue"), selecting(anyTeam))},
			namespace: namespaceOf("red", "team", "red", labelA, ""), wantRemove: []string{labelA},
		},
		"not named any more": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("blue"))},
			namespace: namespaceOf("red", labelA, ""), wantRemove: []string{labelA},
		},
		"all namespaces carry none": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a")},
			namespace: namespaceOf("red", labelA, ""), wantRemove: []string{labelA},
		},
		"a group that is being deleted": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red"), deleted)},
			namespace: namespaceOf("red", labelA, ""), wantRemove: []string{labelA},
		},
		"a group that is being deleted, not understood": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", selecting(invalidSelector), deleted)},
			namespace: namespaceOf("red", labelA, ""), wantRemove: []string{labelA},
		},
		"a group that is not understood keeps its labels": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red", ""))},
			namespace: namespaceOf("red", labelA, ""),
		},
		"a group that is not understood gets no labels": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red", ""))},
			namespace: namespaceOf("red"),
		},
		"a deleted group": {namespace: namespaceOf("red", labelGone, "", "team", "red"), wantOrphaned: []string{labelGone}},
		"a group recreated": {
			groups:    []*operatorsv1.OperatorGroup{groupOf("a", targeting("red"))},
			namespace: namespaceOf("red", labelGone, ""), wantAdd: []string{labelA},
			wantOrphaned: []string{labelGone},
		},
		"several groups": {
			groups: []*operatorsv1.OperatorGroup{
				groupOf("b", targeting("red")), groupOf("a", selecting(anyTeam)), groupOf("c", targeting("blue")),
			},
			namespace: namespaceOf("red", "team", "red"),
			wantAdd:   []string{labelA, labelB},
		},
	} {
		t.Run(name, func(t *testing.T) {
			labels := LabelsOf(test.groups)
			add, remove := labels.Change(test.namespace)
			same(t, "add", test.wantAdd, add)
			same(t, "remove", test.wantRemove, remove)
			same(t, "orphaned", test.wantOrphaned, labels.Orphaned(test.namespace))
		})
	}
}

func TestUnlabelled(t *testing.T) {
	for name, test := range map[string]struct {
		group      *operatorsv1.OperatorGroup
		namespaces []*corev1.Namespace
		want       []string
	}{
		"named, none with the label": {group: groupOf("a", targeting("red", "blue")), namespaces: cluster, want: []string{"blue", "red"}},
		"named, one with the label, one with another value": {
			group:      groupOf("a", targeting("red", "blue")),
			namespaces: []*corev1.Namespace{namespaceOf("red", labelA, ""), namespaceOf("blue", labelA, "x"), namespaceOf("own")},
			want:       []string{"blue"},
		},
		"named, not there yet":                         {group: groupOf("a", targeting("later")), namespaces: cluster},
		"selected: the selector sees them as they are": {group: groupOf("a", selecting(anyTeam)), namespaces: cluster},
		"all": {group: groupOf("a"), namespaces: cluster},
	} {
		t.Run(name, func(t *testing.T) {
			scope, failure := ForNamespace("own", []*operatorsv1.OperatorGroup{test.group}, test.namespaces)
			if failure != nil {
				t.Fatalf("no scope: %s", failure.Message)
			}
			same(t, "unlabelled", test.want, scope.Unlabelled(test.namespaces))
		})
	}
}
