package scope

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestTargets(t *testing.T) {
	for name, test := range map[string]struct {
		group     *operatorsv1.OperatorGroup
		want      []string
		wantError string
	}{
		"neither names nor selector: all": {
			group: groupOf("a"),
			want:  []string{""},
		},
		"an empty selector: all": {
			group: groupOf("a", selecting(metav1.LabelSelector{})),
			want:  []string{""},
		},
		"names, sorted and once each": {
			group: groupOf("a", targeting("red", "blue", "red")),
			want:  []string{"blue", "red"},
		},
		"a name that does not exist": {
			group: groupOf("a", targeting("later")),
			want:  []string{"later"},
		},
		"a selector, sorted": {
			group: groupOf("a", selecting(anyTeam)),
			want:  []string{"blue", "red"},
		},
		"a selector that matches nothing": {
			group: groupOf("a", selecting(team("green"))),
			want:  nil,
		},
		"names win over a selector": {
			group: groupOf("a", targeting("own"), selecting(anyTeam)),
			want:  []string{"own"},
		},
		"names win over a selector that is not valid": {
			group: groupOf("a", targeting("own"), selecting(invalidSelector)),
			want:  []string{"own"},
		},
		`"" among the names`: {
			group:     groupOf("a", targeting("red", "")),
			wantError: `spec.targetNamespaces of OperatorGroup "a" contains "", which names no namespace; remove it, or, for all namespaces, leave spec.targetNamespaces and spec.selector unset`,
		},
		"a selector that is not valid": {
			group:     groupOf("a", selecting(invalidSelector)),
			wantError: `spec.selector of OperatorGroup "a" is not valid: "Like" is not a valid label selector operator; mend it`,
		},
		"a selector that would turn on its own label": {
			group:     groupOf("a", selecting(where(labelA, metav1.LabelSelectorOpDoesNotExist))),
			wantError: `spec.selector of OperatorGroup "a" asks for the label ` + labelA + `, which itself follows from an OperatorGroup; select by another label`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Targets(test.group, cluster)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if message := errorText(err); message != test.wantError {
				t.Errorf("error %q, want %q", message, test.wantError)
			}
		})
	}
}

func TestTargetsLeavesTheGroupAsItIs(t *testing.T) {
	group := groupOf("a", targeting("red", "blue", "red"))
	before := group.DeepCopy()
	if _, err := Targets(group, cluster); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, group); diff != "" {
		t.Errorf("group (-before +after):\n%s", diff)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
