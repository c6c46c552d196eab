package scope

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestConcerns(t *testing.T) {
	red, blue, other := namespaceOf("a", "team", "red"), namespaceOf("a", "team", "blue"), namespaceOf("a", "other", "label")
	leaving := red.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	alsoRed := namespaceOf("a", "team", "red", "other", "label")
	reds := groupOf("og", selecting(team("red")))
	for name, test := range map[string]struct {
		group         *operatorsv1.OperatorGroup
		before, after *corev1.Namespace
		want          bool
	}{
		"it begins to match":              {reds, blue, red, true},
		"it ends to match":                {reds, red, other, true},
		"it comes and matches":            {reds, nil, red, true},
		"it is deleted and matched":       {reds, red, nil, true},
		"it matches and is deleted":       {reds, red, leaving, true},
		"it matches, with another label":  {reds, red, alsoRed, false},
		"it never matches":                {reds, blue, other, false},
		"it comes and does not match":     {reds, nil, blue, false},
		"it is deleted and did not match": {reds, blue, nil, false},
		"it is named":                     {groupOf("og", targeting("b", "a")), red, alsoRed, true},
		"it is named, and comes":          {groupOf("og", targeting("a")), nil, red, true},
		"it is not named":                 {groupOf("og", targeting("b")), red, blue, false},
		"names win over a selector":       {groupOf("og", targeting("b"), selecting(team("red"))), blue, red, false},
		"all":                             {groupOf("og"), nil, red, false},
		"all, by an empty selector":       {groupOf("og", selecting(metav1.LabelSelector{})), nil, red, false},
		"a selector that is not valid":    {groupOf("og", selecting(invalidSelector)), nil, red, false},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "concerns the group", test.want, Concerns(test.group, test.before, test.after))
		})
	}
}

func TestTargets(t *testing.T) {
	for name, test := range map[string]struct {
		group     *operatorsv1.OperatorGroup
		want      []string
		wantError string
	}{
		"neither names nor selector: all":             {group: groupOf("a"), want: []string{""}},
		"an empty selector: all":                      {group: groupOf("a", selecting(metav1.LabelSelector{})), want: []string{""}},
		"names, sorted and once each":                 {group: groupOf("a", targeting("red", "blue", "red")), want: []string{"blue", "red"}},
		"a name that does not exist":                  {group: groupOf("a", targeting("later")), want: []string{"later"}},
		"a selector, sorted":                          {group: groupOf("a", selecting(anyTeam)), want: []string{"blue", "red"}},
		"a selector that matches nothing":             {group: groupOf("a", selecting(team("green"))), want: nil},
		"names win over a selector":                   {group: groupOf("a", targeting("own"), selecting(anyTeam)), want: []string{"own"}},
		"names win over a selector that is not valid": {group: groupOf("a", targeting("own"), selecting(invalidSelector)), want: []string{"own"}},
		`"" among the names`: {
			group:     groupOf("a", targeting("red", "")),
			wantError: `spec.targetNamespaces of OperatorGroup "a" contains "", which names no namespace; remove it, or, for all namespaces, leave spec.targetNamespaces and spec.selector unset`,
		},
		"a selector that is not valid": {
			group:     groupOf("a", selecting(invalidSelector)),
			wantError: `spec.selector of OperatorGroup "a" is not valid: "Like" is not a valid label selector operator; correct it`,
		},
		"a selector that would turn on its own label": {
			group:     groupOf("a", selecting(where(labelA, metav1.LabelSelectorOpDoesNotExist))),
			wantError: `spec.selector of OperatorGroup "a" asks for the label ` + labelA + `, which itself follows from an OperatorGroup; select by another label`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Targets(test.group, cluster)
			same(t, "targets", test.want, got)
			same(t, "error", cmp.Or(test.wantError, "<nil>"), fmt.Sprint(err))
		})
	}
}

func TestTargetsLeavesTheGroupAsItIs(t *testing.T) {
	group := groupOf("a", targeting("red", "blue", "red"))
	before := group.DeepCopy()
	if _, err := Targets(group, cluster); err != nil {
		t.Fatal(err)
	}
	same(t, "group", before, group)
}

// With the named namespaces alone, the result is the same as with all.
func TestNamed(t *testing.T) {
	everything := selecting(metav1.LabelSelector{})
	for name, test := range map[string]struct {
		groups []*operatorsv1.OperatorGroup
		want   []string
		all    bool
	}{
		"none":           {nil, nil, false},
		"all namespaces": {[]*operatorsv1.OperatorGroup{groupOf("a")}, nil, false},
		"named":          {[]*operatorsv1.OperatorGroup{groupOf("a", targeting("red", "blue", "red"))}, []string{"blue", "red"}, false},
		"several":        {[]*operatorsv1.OperatorGroup{groupOf("a", targeting("red")), groupOf("b", targeting("blue"))}, []string{"blue", "red"}, false},
		"selected":       {[]*operatorsv1.OperatorGroup{groupOf("a", targeting("red")), groupOf("b", everything)}, nil, true},
		"named, and a selector that does not count": {[]*operatorsv1.OperatorGroup{groupOf("a", targeting("red"), everything)}, []string{"red"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			names, all := Named(test.groups)
			if all != test.all || !slices.Equal(names, test.want) {
				t.Fatalf("Named = %v, %v, want %v, %v", names, all, test.want, test.all)
			}
			known := slices.DeleteFunc(slices.Clone(cluster), func(n *corev1.Namespace) bool { return !all && !slices.Contains(names, n.Name) })
			want, wantFailure := ForNamespace("own", test.groups, cluster)
			got, failure := ForNamespace("own", test.groups, known)
			same(t, "scope", want, got)
			same(t, "failure", wantFailure, failure)
		})
	}
}

// Everything that a group selects is found by its keys.
func TestSelectionKeys(t *testing.T) {
	namespaces := []*corev1.Namespace{namespaceOf("plain"), namespaceOf("red", "team", "red"), namespaceOf("blue", "team", "blue", "size", "1")}
	for name, test := range map[string]struct {
		spec func(*operatorsv1.OperatorGroup)
		keys []string
	}{
		"names":             {targeting("red"), nil},
		"all":               {targeting(), nil},
		"a label":           {selecting(team("red")), []string{"team=red"}},
		"one of two values": {selecting(where("team", metav1.LabelSelectorOpIn, "red", "blue")), []string{"team=blue", "team=red"}},
		"any value":         {selecting(anyTeam), []string{"team"}},
		"no such label":     {selecting(where("team", metav1.LabelSelectorOpDoesNotExist)), []string{"*"}},
		"other values":      {selecting(where("team", metav1.LabelSelectorOpNotIn, "red")), []string{"*"}},
		"a mistake":         {selecting(invalidSelector), nil},
	} {
		group := groupOf("og", test.spec)
		keys := SelectionKeys(group)
		slices.Sort(keys)
		if !slices.Equal(keys, test.keys) {
			t.Errorf("%s: keys %v, want %v", name, keys, test.keys)
		}
		targets, err := Targets(group, namespaces)
		if err != nil || len(test.keys) == 0 {
			continue
		}
		for _, target := range targets {
			i := slices.IndexFunc(namespaces, func(n *corev1.Namespace) bool { return n.Name == target })
			if !slices.ContainsFunc(SelectableBy(namespaces[i]), func(key string) bool { return slices.Contains(keys, key) }) {
				t.Errorf("%s: Namespace %s is selected, and not found by %v", name, target, keys)
			}
		}
	}
}

// Covers answers for one Namespace what ForNamespace answers for all.
func TestCovers(t *testing.T) {
	red, blue := namespaceOf("red", "team", "red"), namespaceOf("blue", "team", "blue")
	for name, test := range map[string]struct {
		groups     []*operatorsv1.OperatorGroup
		everywhere bool
	}{
		"no group":                     {nil, false},
		"all":                          {[]*operatorsv1.OperatorGroup{groupOf("og")}, true},
		"names":                        {[]*operatorsv1.OperatorGroup{groupOf("og", targeting("other", "red"))}, false},
		"a selector":                   {[]*operatorsv1.OperatorGroup{groupOf("og", selecting(team("red")))}, false},
		"a selector that matches all":  {[]*operatorsv1.OperatorGroup{groupOf("og", selecting(anyTeam))}, false},
		"a selector that is not valid": {[]*operatorsv1.OperatorGroup{groupOf("og", selecting(invalidSelector))}, false},
		"two groups":                   {[]*operatorsv1.OperatorGroup{groupOf("a"), groupOf("b")}, false},
		"a group that is deleted":      {[]*operatorsv1.OperatorGroup{groupOf("a", deleted)}, false},
		"two, one of which is deleted": {[]*operatorsv1.OperatorGroup{groupOf("a", deleted), groupOf("b", targeting("blue"))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, failure := ForNamespace("operators", test.groups, []*corev1.Namespace{red, blue})
			for _, namespace := range []*corev1.Namespace{red, blue} {
				covers, everywhere := Covers(test.groups, namespace)
				want := failure == nil && (slices.Contains(s.Namespaces, "") || slices.Contains(s.Namespaces, namespace.Name))
				same(t, "covers "+namespace.Name, want, covers)
				same(t, "covers all", test.everywhere, everywhere)
			}
		})
	}
}
