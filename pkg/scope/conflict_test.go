package scope

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// claimantOf is an operator that owns ponds, in a line such as "two begun Failed/OwnerConflict".
func claimantOf(line string) Claimant {
	words := strings.Fields(line)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: words[0], Name: words[0]}}
	csv.CreationTimestamp = metav1.NewTime(noon)
	csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds.example.com", Version: "v1", Kind: "Pond"}}
	claimant := Claimant{CSV: csv}
	for _, word := range words[1:] {
		switch word {
		case "begun":
			claimant.Began = true
		case "younger":
			csv.CreationTimestamp = metav1.NewTime(noon.Add(time.Second))
		case "of-lakes":
			csv.Spec.CustomResourceDefinitions.Owned[0].Name, csv.Spec.CustomResourceDefinitions.Owned[0].Kind = "lakes.example.com", "Lake"
		case "misspelled":
			csv.Spec.CustomResourceDefinitions.Owned[0].Kind = "pond"
		case "of-v2":
			csv.Spec.CustomResourceDefinitions.Owned[0].Version = "v2"
		default:
			phase, reason, _ := strings.Cut(word, "/")
			csv.Status.Phase, csv.Status.Reason = operatorsv1alpha1.ClusterServiceVersionPhase(phase), operatorsv1alpha1.ConditionReason(reason)
		}
	}
	return claimant
}

func static(apis string) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) {
		group.Spec.StaticProvidedAPIs = true
		group.Annotations = map[string]string{"olm.providedAPIs": apis}
	}
}

func other(group *operatorsv1.OperatorGroup) { group.Namespace = "other" }

// Of any two operators one keeps what both claim, and both know which.
func TestPrecedes(t *testing.T) {
	for name, test := range map[string]struct{ first, second string }{
		"the elder":                             {"two", "one younger"},
		"of one second, by name":                {"one", "two"},
		"one that is installed":                 {"two begun younger", "one"},
		"the elder of two that are":             {"two begun", "one begun younger"},
		"one that has not yielded":              {"two younger", "one begun Failed/OwnerConflict"},
		"the elder of two that have":            {"two Failed/OwnerConflict", "one younger Failed/InterOperatorGroupOwnerConflict"},
		"one that has failed for other reasons": {"two begun Failed/InstallCheckFailed", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := claimantOf(test.first), claimantOf(test.second)
			same(t, "the first precedes the second", true, first.Precedes(second))
			same(t, "the second precedes the first", false, second.Precedes(first))
		})
	}
}

func TestConflict(t *testing.T) {
	const (
		inter    = "InterOperatorGroupOwnerConflict: intersecting operatorgroups provide the same apis: "
		fixed    = "CannotModifyStaticOperatorGroupProvidedAPIs: static provided api operatorgroup cannot be modified by these apis: "
		elder    = "ClusterServiceVersion elder/elder of OperatorGroup other/b provides Pond.v1.example.com, and both groups cover "
		wayOut   = ": delete one of the operators, or give one of the groups other targets"
		annotate = "add Pond.v1.example.com to the annotation olm.providedAPIs of OperatorGroup a, or unset its spec.staticProvidedAPIs"
	)
	groups := func(changes ...func(*operatorsv1.OperatorGroup)) []func(*operatorsv1.OperatorGroup) { return changes }
	for name, test := range map[string]struct {
		group      []func(*operatorsv1.OperatorGroup)
		rivalGroup []func(*operatorsv1.OperatorGroup)
		rival      string // none: the group itself
		want       string
	}{
		"both for all namespaces":     {nil, nil, "elder begun", inter + elder + "all namespaces" + wayOut},
		"one for all":                 {nil, groups(targeting("red")), "elder begun", inter + elder + "all namespaces" + wayOut},
		"one namespace in common":     {groups(targeting("red", "blue")), groups(targeting("green", "red")), "elder begun", inter + elder + "namespace red" + wayOut},
		"the namespace of the one":    {groups(targeting("red")), groups(targeting("own")), "elder begun", inter + elder + "namespace own" + wayOut},
		"no namespace in common":      {groups(targeting("red")), groups(targeting("blue")), "elder begun", ""},
		"another kind":                {nil, nil, "elder begun of-lakes", ""},
		"the same under another kind": {nil, nil, "elder begun misspelled", inter + elder + "all namespaces" + wayOut},
		"the same in another version": {nil, nil, "elder begun of-v2", inter + elder + "all namespaces" + wayOut},
		"the rival is younger":        {nil, nil, "elder younger", ""},
		"the rival has yielded":       {nil, nil, "elder begun Failed/InterOperatorGroupOwnerConflict", ""},
		"the rival is the group":      {nil, groups(static("Pond.v1.example.com")), "", inter + "OperatorGroup other/b provides Pond.v1.example.com, and both groups cover all namespaces" + wayOut},
		"the group has other kinds":   {nil, groups(static("Lake.v1.example.com")), "", ""},
		"its own group has it":        {groups(static("Lake.v1.example.com,Pond.v1.example.com")), nil, "elder younger", ""},
		"its own group lacks it":      {groups(static("Lake.v1.example.com")), nil, "elder younger", fixed + annotate},
		"its own group has nothing":   {groups(static("")), nil, "elder younger", fixed + annotate},
		// As OLM v0 has it.
		"lacks it, and another operator has it": {groups(static("")), nil, "elder begun", inter + elder + "all namespaces" + wayOut},
		"has it, and another operator has it": {groups(static("Pond.v1.example.com")), nil, "elder begun",
			fixed + "ClusterServiceVersion elder/elder of OperatorGroup other/b provides them, too, and both groups cover all namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			rival := Rival{Scope: scopeOf(t, groupOf("b", append(test.rivalGroup, other)...))}
			if test.rival != "" {
				rival.Claimant = claimantOf(test.rival)
			}
			got := ""
			if failure := scopeOf(t, groupOf("a", test.group...)).Conflict(claimantOf("own"), []Rival{rival}); failure != nil {
				got = string(failure.Reason) + ": " + failure.Message
			}
			same(t, "conflict", test.want, got)
		})
	}
}

// What a ClusterServiceVersion calls a kind proves nothing about what it provides: the definition does.
func TestConflictIsDecidedByTheDefinition(t *testing.T) {
	for name, test := range map[string]struct {
		kinds  map[string]string // that exist
		stated string
		listed string
		want   bool // a conflict with a group that lists it
	}{
		"as it is":                        {map[string]string{"ponds.example.com": "Pond"}, "Pond", "Pond.v1.example.com", true},
		"spelled differently":             {map[string]string{"ponds.example.com": "Pond"}, "pond", "Pond.v1.example.com", true},
		"another kind's name":             {map[string]string{"ponds.example.com": "Pond"}, "Lake", "Lake.v1.example.com", false},
		"the definition is yet to come":   {nil, "Pond", "Pond.v1.example.com", true},
		"another definition of the group": {map[string]string{"lakes.example.com": "Lake"}, "Pond", "Lake.v1.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			own := claimantOf("own")
			own.Kinds, own.CSV.Spec.CustomResourceDefinitions.Owned[0].Kind = test.kinds, test.stated
			group := groupOf("b", other, static(test.listed))
			failure := scopeOf(t, groupOf("a")).Conflict(own, []Rival{{Scope: scopeOf(t, group)}})
			same(t, "there is a conflict", test.want, failure != nil)
		})
	}
}
