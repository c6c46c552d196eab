package exemptions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

const rbacGroup = "rbac.authorization.k8s.io"

// permissionsExemption are the manager's writes of roles and bindings for a
// ClusterServiceVersion, in its namespace and outside of it: one that is refused ends the
// pass that would have repaired the rest. They have the names of whatever was lifted, so
// they are told by their labels, which are of no use to anybody but the manager. What was
// lifted may be of the version before, in the same namespace.
func permissionsExemption(csv *operatorsv1alpha1.ClusterServiceVersion, manager string) Exemption {
	return Exemption{
		Name: "own-permissions", What: "its own roles and their bindings",
		subjects: slices.Concat(
			namespacedSubjects(rbacGroup, "roles"), namespacedSubjects(rbacGroup, "rolebindings"),
			clusterSubjects(rbacGroup, "clusterroles"), clusterSubjects(rbacGroup, "clusterrolebindings"),
		),
		which: labelled(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelGrantedPermissions: "true", wellknown.LabelOwnerNamespace: csv.Namespace}), who: userIn(manager),
	}
}

// labelled is true of requests about objects that bear all labels of one of the sets.
func labelled(sets ...map[string]string) string {
	var alternatives []string
	for _, set := range sets {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(set)) {
			k := strconv.Quote(key)
			all = append(all, k+" in o.metadata.labels && o.metadata.labels["+k+"] == "+strconv.Quote(set[key]))
		}
		alternatives = append(alternatives, strings.Join(all, " && "))
	}
	return showing(given("o.metadata.labels"), parenthesised(anyOf(alternatives...)))
}
