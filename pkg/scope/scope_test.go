package scope

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

const (
	own    = operatorsv1alpha1.InstallModeTypeOwnNamespace
	single = operatorsv1alpha1.InstallModeTypeSingleNamespace
	multi  = operatorsv1alpha1.InstallModeTypeMultiNamespace
	all    = operatorsv1alpha1.InstallModeTypeAllNamespaces
)

func TestForNamespace(t *testing.T) {
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{labelA: ""}}
	byTeam := anyTeam

	for name, test := range map[string]struct {
		group        *operatorsv1.OperatorGroup
		others       []*operatorsv1.OperatorGroup
		wantSelector *metav1.LabelSelector
		wantTargets  string
	}{
		"all namespaces": {group: groupOf("a"), wantSelector: &metav1.LabelSelector{}, wantTargets: ""},
		"an empty selector": {
			group:        groupOf("a", selecting(metav1.LabelSelector{})),
			wantSelector: &metav1.LabelSelector{}, wantTargets: "",
		},
		"the own namespace":   {group: groupOf("a", targeting("own", "own")), wantSelector: labelled, wantTargets: "own"},
		"another namespace":   {group: groupOf("a", targeting("red")), wantSelector: labelled, wantTargets: "red"},
		"several namespaces":  {group: groupOf("a", targeting("red", "own")), wantSelector: labelled, wantTargets: "own,red"},
		"selected namespaces": {group: groupOf("a", selecting(anyTeam)), wantSelector: &byTeam, wantTargets: "blue,red"},
		"names win over a selector": {
			group:        groupOf("a", targeting("red"), selecting(anyTeam)),
			wantSelector: labelled, wantTargets: "red",
		},
		"next to a group that is being deleted": {
			group:        groupOf("a", targeting("red")),
			others:       []*operatorsv1.OperatorGroup{groupOf("b", deleted)},
			wantSelector: labelled, wantTargets: "red",
		},
	} {
		t.Run(name, func(t *testing.T) {
			scope, failure := ForNamespace("own", append(test.others, test.group), cluster)
			if failure != nil {
				t.Fatalf("no scope: %s", failure.Message)
			}
			if scope.Group != test.group {
				t.Errorf("group %q, want %q", scope.Group.Name, test.group.Name)
			}
			same(t, "selector", test.wantSelector, scope.WebhookSelector())
			wantAnnotations := map[string]string{
				"olm.operatorGroup":     "a",
				"olm.operatorNamespace": "own",
				"olm.targetNamespaces":  test.wantTargets,
			}
			same(t, "annotations", wantAnnotations, scope.Annotations())
		})
	}
}

func TestForNamespaceFails(t *testing.T) {
	for name, test := range map[string]struct {
		groups []*operatorsv1.OperatorGroup
		want   Failure
	}{
		"no group": {
			want: Failure{
				operatorsv1alpha1.CSVReasonNoOperatorGroup,
				`csv in namespace with no operatorgroups: create one in namespace "own"`,
			},
		},
		"a group that is being deleted": {
			groups: []*operatorsv1.OperatorGroup{groupOf("a", deleted)},
			want: Failure{
				operatorsv1alpha1.CSVReasonNoOperatorGroup,
				`csv in namespace with no operatorgroups: being deleted: a; create one in namespace "own"`,
			},
		},
		"two groups": {
			groups: []*operatorsv1.OperatorGroup{groupOf("b"), groupOf("a")},
			want: Failure{
				operatorsv1alpha1.CSVReasonTooManyOperatorGroups,
				"csv created in namespace with multiple operatorgroups, can't pick one automatically: a, b; keep one of them",
			},
		},
		"a selector that matches nothing": {
			groups: []*operatorsv1.OperatorGroup{groupOf("a", selecting(team("green")))},
			want: Failure{
				operatorsv1alpha1.CSVReasonNoTargetNamespaces,
				`no targetNamespaces are matched operatorgroups namespace selection: spec.selector of OperatorGroup "a" (team=green) matches no namespace; label the namespaces that it is meant for, or change it`,
			},
		},
		"a selector that is not valid": {
			groups: []*operatorsv1.OperatorGroup{groupOf("a", selecting(invalidSelector))},
			want: Failure{
				operatorsv1alpha1.CSVReasonNoTargetNamespaces,
				`no targetNamespaces are matched operatorgroups namespace selection: spec.selector of OperatorGroup "a" is not valid: "Like" is not a valid label selector operator; correct it`,
			},
		},
		`"" as the only name`: {
			groups: []*operatorsv1.OperatorGroup{groupOf("a", targeting(""))},
			want: Failure{
				operatorsv1alpha1.CSVReasonNoTargetNamespaces,
				`no targetNamespaces are matched operatorgroups namespace selection: spec.targetNamespaces of OperatorGroup "a" contains "", which names no namespace; remove it, or, for all namespaces, leave spec.targetNamespaces and spec.selector unset`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, failure := ForNamespace("own", test.groups, cluster)
			same(t, "failure", &test.want, failure)
		})
	}
}

func TestWebhookSelectorIsACopy(t *testing.T) {
	scope := scopeOf(t, groupOf("a", selecting(team("red"))))
	scope.WebhookSelector().MatchLabels["team"] = "blue"
	same(t, "the team that the group selects after a change to the webhook's selector", "red", scope.Group.Spec.Selector.MatchLabels["team"])
}

func TestSupported(t *testing.T) {
	for name, test := range map[string]struct {
		targets []string
		modes   []operatorsv1alpha1.InstallMode
		want    *Failure
	}{
		"all namespaces":     {targets: nil, modes: supporting(all)},
		"own namespace":      {targets: []string{"own"}, modes: supporting(own)},
		"single namespace":   {targets: []string{"red"}, modes: supporting(single)},
		"several namespaces": {targets: []string{"red", "blue"}, modes: supporting(multi)},
		"several, own among": {targets: []string{"red", "own"}, modes: supporting(own, multi)},
		"all namespaces, unsupported": {
			targets: nil, modes: supporting(own, single),
			want: unsupportedGroup("AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces", "OwnNamespace, SingleNamespace"),
		},
		"own namespace, unsupported": {
			targets: []string{"own"}, modes: supporting(all),
			want: unsupportedGroup("OwnNamespace InstallModeType not supported, cannot configure to watch own namespace", "AllNamespaces"),
		},
		"single namespace, unsupported": {
			targets: []string{"red"}, modes: supporting(all),
			want: unsupportedGroup("SingleNamespace InstallModeType not supported, cannot configure to watch one namespace", "AllNamespaces"),
		},
		"several namespaces, unsupported": {
			targets: []string{"red", "blue"}, modes: supporting(single),
			want: unsupportedGroup("MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces", "SingleNamespace"),
		},
		"several, own among, unsupported": {
			targets: []string{"red", "own"}, modes: supporting(multi),
			want: unsupportedGroup("OwnNamespace InstallModeType not supported, cannot configure to watch own namespace", "MultiNamespace"),
		},
		"no install modes": {
			targets: nil,
			want:    unsupportedGroup("AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces", "no install mode"),
		},
		"an install mode twice": {
			targets: nil,
			modes:   supporting(all, all),
			want: &Failure{
				operatorsv1alpha1.CSVReasonInvalidInstallModes,
				"InstallMode list contains duplicates, cannot make set: " +
					"[{AllNamespaces true} {AllNamespaces true}]: list each type once in spec.installModes",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(t, groupOf("a", targeting(test.targets...)))
			csv := &operatorsv1alpha1.ClusterServiceVersion{}
			csv.Spec.InstallModes = test.modes
			same(t, "failure", test.want, scope.Supported(csv))
		})
	}
}

func supporting(types ...operatorsv1alpha1.InstallModeType) []operatorsv1alpha1.InstallMode {
	var modes []operatorsv1alpha1.InstallMode
	for _, mode := range types {
		modes = append(modes, operatorsv1alpha1.InstallMode{Type: mode, Supported: true})
	}
	return modes
}

func unsupportedGroup(text, modes string) *Failure {
	return &Failure{
		operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
		text + ": the ClusterServiceVersion supports " + modes + `; change which namespaces OperatorGroup "a" targets`,
	}
}
