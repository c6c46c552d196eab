package clusterrole

import (
	"crypto/sha256"
	"math/big"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// OfGroup returns the ClusterRoles for the users of an OperatorGroup. They include those of the provided APIs, as
// kind.version.group. OLM v0 creates none for a group whose name is too long for the label that names it.
func OfGroup(namespace, name string, apis []string) []*rbacv1.ClusterRole {
	if len(name) > validation.LabelValueMaxLength {
		return nil
	}
	return lists.Map(levels, func(level Level) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{
			ObjectMeta:      metav1.ObjectMeta{Name: groupRoleName(namespace, name, level), Labels: groupLabels(namespace, name)},
			AggregationRule: including(apis, level),
		}
	})
}

func groupLabels(namespace, name string) map[string]string {
	return map[string]string{
		wellknown.LabelManaged:        "true",
		wellknown.LabelOwner:          name,
		wellknown.LabelOwnerNamespace: namespace,
		wellknown.LabelOwnerKind:      operatorsv1.OperatorGroupKind,
	}
}

// groupRoleName contains the whole identity as a hash, so another group cannot have the same.
func groupRoleName(namespace, name string, level Level) string {
	sum := sha256.Sum224([]byte(namespace + "/" + name + "/" + string(level)))
	return "olm.og." + name + "." + string(level) + "-" + new(big.Int).SetBytes(sum[:]).Text(62)
}

func including(apis []string, level Level) *rbacv1.AggregationRule {
	if len(apis) == 0 {
		return nil
	}
	labels := lists.Sorted(lists.Map(apis, level.forGroups))
	return &rbacv1.AggregationRule{ClusterRoleSelectors: lists.Map(labels, func(label string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}}
	})}
}

// GroupOf returns the OperatorGroup that a ClusterRole is for. The labels alone are no proof: the name must be the one
// that is derived from them.
func GroupOf(role *rbacv1.ClusterRole) (namespace, name string, ok bool) {
	if role.Labels[wellknown.LabelOwnerKind] != operatorsv1.OperatorGroupKind || role.Labels[wellknown.LabelManaged] != "true" {
		return "", "", false
	}
	namespace, name = role.Labels[wellknown.LabelOwnerNamespace], role.Labels[wellknown.LabelOwner]
	return namespace, name, slices.ContainsFunc(levels, func(level Level) bool { return role.Name == groupRoleName(namespace, name, level) })
}
