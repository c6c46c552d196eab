package bundle

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// maxText is how many bytes the rules of a bundle may have where each combination of their lists is written out, as
// people are shown it: two lists of 20,000 items each fit into a small file and have 400,000,000 combinations.
const maxText = 4 << 20

// refuseWide reports rules whose lists have too many combinations: those that the manager refuses, and those
// with which all rules that were read have more than maxText. It returns whether there are none.
func (b *Bundle) refuseWide(o *Object, typed any) bool {
	if csv, ok := typed.(*operatorsv1alpha1.ClusterServiceVersion); ok {
		if narrow := csvspec.WebhooksWithinLimit(csv); narrow < len(csv.Spec.WebhookDefinitions) {
			return b.wide(o, fmt.Sprintf("spec.webhookdefinitions[%d].rules", narrow), fmt.Sprintf("has rules with more than %d combinations of what their lists name", csvspec.MaxCombinations))
		}
		if csvspec.PermissionCombinations(csv) > csvspec.MaxGrants {
			return b.wide(o, "spec.install.spec", fmt.Sprintf("has rules with more than %d combinations of what their lists name", csvspec.MaxGrants))
		}
	}
	path, bytes := textOf(typed)
	if b.text = min(b.text+bytes, enough); b.text > maxText {
		return b.wide(o, path, fmt.Sprintf("has rules whose lists, with those read before, have more than %d MiB of combinations", maxText>>20))
	}
	return true
}

func (b *Bundle) wide(o *Object, path, detail string) bool {
	b.problemAt(TooWide, o, path, detail, "name fewer in each rule")
	return false
}

// refuseBound reports the object with which roles have more than maxText, their rules counted once for each subject
// and for each ClusterRole that they are given to.
func (b *Bundle) refuseBound() {
	roles := map[rbacv1.RoleRef]table{}
	for _, o := range b.Objects {
		switch role := o.Typed.(type) {
		case *rbacv1.Role:
			roles[refTo("Role", role.Name)] = roles[refTo("Role", role.Name)].plus(roleTable(role.Rules))
		case *rbacv1.ClusterRole:
			roles[refTo("ClusterRole", role.Name)] = roles[refTo("ClusterRole", role.Name)].plus(clusterRoleTable(role))
		}
	}
	total := 0
	for _, o := range b.Objects {
		path, bytes := givenText(o.Typed, roles)
		if total = min(total+bytes, enough); total > maxText {
			b.problemAt(TooWide, o, path, fmt.Sprintf("and those of the objects before it give more than %d MiB of rules, each counted for each that it is given to", maxText>>20), "bind a group, or fewer subjects")
			return
		}
	}
}

// givenText returns how many bytes of rules an object gives, and the field that says to whom.
func givenText(typed any, roles map[rbacv1.RoleRef]table) (path string, bytes int) {
	switch o := typed.(type) {
	case *rbacv1.RoleBinding:
		return "subjects", boundText(o.Subjects, roles[refTo(o.RoleRef.Kind, o.RoleRef.Name)])
	case *rbacv1.ClusterRoleBinding:
		return "subjects", boundText(o.Subjects, roles[refTo(o.RoleRef.Kind, o.RoleRef.Name)])
	case *rbacv1.ClusterRole:
		role, labels := roles[refTo("ClusterRole", o.Name)], mapText(o.Labels)
		return "metadata.labels", times(len(o.Labels), role.bytes) + role.with(labels)
	default:
		return "", 0
	}
}

func refTo(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }

func boundText(subjects []rbacv1.Subject, role table) (bytes int) {
	for _, s := range subjects {
		bytes = min(bytes+rowText+role.bytes+role.with(len(s.Name)+len(s.Namespace)), enough)
	}
	return bytes
}
