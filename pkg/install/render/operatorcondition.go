package render

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Condition is the OperatorCondition of an operator. All objects have the name of the CSV, as the operator expects.
type Condition struct {
	Object      *operatorsv2.OperatorCondition
	Role        *rbacv1.Role
	RoleBinding *rbacv1.RoleBinding
}

func condition(csv *operatorsv1alpha1.ClusterServiceVersion) *Condition {
	accounts := conditionAccounts(csv)
	c := &Condition{
		Object: &operatorsv2.OperatorCondition{
			TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv2.GroupVersion.String(), Kind: "OperatorCondition"},
			ObjectMeta: csvspec.OwnedMeta(csv, csv.Name),
			Spec:       operatorsv2.OperatorConditionSpec{ServiceAccounts: accounts, Deployments: csvspec.DeploymentNames(csv)},
		},
	}
	c.Role, c.RoleBinding = grant(csv, csv.Name, rbacv1.PolicyRule{
		APIGroups:     []string{operatorsv2.GroupVersion.Group},
		Resources:     []string{"operatorconditions", "operatorconditions/status"},
		ResourceNames: []string{csv.Name},
		Verbs:         []string{"get", "update", "patch"},
	}, accounts...)
	return c
}

// OLM v0 binds these: those of the permissions, or the default one.
func conditionAccounts(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	accounts := lists.FilterMap(slices.Concat(strategy.ClusterPermissions, strategy.Permissions), func(p operatorsv1alpha1.StrategyDeploymentPermissions) (string, bool) {
		return p.ServiceAccountName, p.ServiceAccountName != ""
	})
	if len(accounts) == 0 {
		return []string{"default"}
	}
	return lists.Distinct(accounts)
}
