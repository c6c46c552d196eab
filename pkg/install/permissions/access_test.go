package permissions

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A binding may name an account in five ways.
func TestSubjects(t *testing.T) {
	subjects := SubjectsOf("shop", "server")
	for name, test := range map[string]struct {
		subject rbacv1.Subject
		means   bool
	}{
		"the account":                      {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: "server"}, true},
		"another account":                  {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: "other"}, false},
		"the account of another namespace": {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "blue", Name: "server"}, false},
		"its user":                         {rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "system:serviceaccount:shop:server"}, true},
		"all accounts of the namespace":    {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:shop"}, true},
		"all accounts":                     {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts"}, true},
		"everybody":                        {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"}, true},
		"nobody":                           {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:unauthenticated"}, false},
	} {
		installtest.Same(t, name+": means the account", test.means, slices.Contains(subjects, SubjectKeys([]rbacv1.Subject{test.subject})[0]))
	}
}

// A ClusterServiceVersion whose permissions have too many combinations is not compared with what accounts may do.
func TestPermissionCombinations(t *testing.T) {
	rule := rbacv1.PolicyRule{Verbs: installtest.ListOf(300), APIGroups: installtest.ListOf(300), Resources: installtest.ListOf(300), ResourceNames: installtest.ListOf(300)}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "server", Rules: []rbacv1.PolicyRule{rule, rule}}}
	if got := csvspec.PermissionCombinations(csv); got <= csvspec.MaxGrants {
		t.Errorf("it has %d combinations", got)
	}
	all := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	installtest.Same(t, "a rule with too many combinations is covered", false, Covers([]rbacv1.PolicyRule{all}, rule))
	for want, rule := range map[int]rbacv1.PolicyRule{
		6: {Verbs: installtest.ListOf(2), APIGroups: installtest.ListOf(1), Resources: installtest.ListOf(3)},
		8: {Verbs: installtest.ListOf(2), NonResourceURLs: installtest.ListOf(4)},
		4: {Verbs: installtest.ListOf(1), APIGroups: installtest.ListOf(1), Resources: installtest.ListOf(2), ResourceNames: installtest.ListOf(2)},
		0: {APIGroups: installtest.ListOf(1), Resources: installtest.ListOf(2)},
	} {
		installtest.Same(t, fmt.Sprintf("the combinations of %+v", rule), want, csvspec.GrantCombinations(rule))
	}
}
