package permissions

import (
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// longestName is the maximum length of a name that catalog-operator derives.
const longestName = 63

// PlannedRole returns the name that OLM's catalog-operator (v0.46.0) gives to the Role of a permission. A hash in it
// covers the name of the CSV, the account and the rules, so the name proves all of them. The step of an InstallPlan may
// have no manifest: it refers to a ConfigMap, which other clients can change.
func PlannedRole(csv string, permission operatorsv1alpha1.StrategyDeploymentPermissions) string {
	hashed, err := json.Marshal(struct {
		Name       string                                          `json:"name,omitempty"`
		Permission operatorsv1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv, permission})
	if err != nil {
		panic(err) // API types always marshal
	}
	sum := sha256.Sum224(append(hashed, '\n'))
	hash := new(big.Int).SetBytes(sum[:]).Text(62)
	base := csv + "-" + permission.ServiceAccountName
	if len(base)+len(hash) > longestName {
		base = base[:longestName-len(hash)-1]
	}
	return base + "-" + hash
}

// ListedRoles returns the names of the Roles that approved InstallPlans have created for a CSV, or found. While an
// InstallPlan is executed, its steps count, too: catalog-operator writes their status at the end. An InstallPlan that
// ended before the CSV was created is for an earlier CSV of that name. skew is the maximum difference of clocks.
func ListedRoles(csv *operatorsv1alpha1.ClusterServiceVersion, plans []*operatorsv1alpha1.InstallPlan, skew time.Duration) map[string]bool {
	listed := map[string]bool{}
	for _, plan := range plans {
		if plan.Namespace != csv.Namespace || !plan.Spec.Approved || endedBefore(plan, csv.CreationTimestamp.Add(-skew)) {
			continue
		}
		for _, step := range RoleSteps(plan) {
			executed := step.Status == operatorsv1alpha1.StepStatusCreated || step.Status == operatorsv1alpha1.StepStatusPresent
			if step.Resolving == csv.Name && (executed || plan.Status.Phase == operatorsv1alpha1.InstallPlanPhaseInstalling) {
				listed[step.Resource.Name] = true
			}
		}
	}
	return listed
}

// RoleSteps returns the steps of an InstallPlan that create Roles.
func RoleSteps(plan *operatorsv1alpha1.InstallPlan) []*operatorsv1alpha1.Step {
	return lists.Filter(plan.Status.Plan, func(step *operatorsv1alpha1.Step) bool {
		return step != nil && step.Resource.Group == rbacv1.GroupName && step.Resource.Kind == "Role"
	})
}

// PlannedFor returns the names of the CSVs for which an InstallPlan creates Roles.
func PlannedFor(plan *operatorsv1alpha1.InstallPlan) []string {
	return lists.Sorted(lists.Map(RoleSteps(plan), func(step *operatorsv1alpha1.Step) string { return step.Resolving }))
}

// endedBefore reports whether an InstallPlan has ended, with or without success, before a time.
func endedBefore(plan *operatorsv1alpha1.InstallPlan, at time.Time) bool {
	if plan.Status.Phase != operatorsv1alpha1.InstallPlanPhaseComplete && plan.Status.Phase != operatorsv1alpha1.InstallPlanPhaseFailed {
		return false
	}
	return slices.ContainsFunc(plan.Status.Conditions, func(c operatorsv1alpha1.InstallPlanCondition) bool {
		return c.Type == operatorsv1alpha1.InstallPlanInstalled && c.LastTransitionTime != nil && c.LastTransitionTime.Time.Before(at)
	})
}

// permits reports whether a Role may be lifted for an account: an InstallPlan lists the Role, or the manager has lifted
// it already. catalog-operator deletes old InstallPlans, and each one with its Subscription.
func (g Grants) permits(account string, role *rbacv1.Role, binding, namespace string) bool {
	proven := g.provesName(account, role)
	if !g.OnlyListed || proven && g.Listed[role.Name] {
		return true
	}
	name, _ := g.free(namespace, role.Name, binding)
	hasRole, hasBinding := g.isLifted(role.Rules, name, namespace), g.isBound(account, name, namespace)
	// Only a cluster administrator can create a ClusterRoleBinding, so it proves that the Role was lifted.
	return hasRole && hasBinding || proven && (g.hasProof(role, binding) || namespace == metav1.NamespaceAll && hasBinding)
}

// hasProof reports whether the ClusterRole of a Role exists. Only the manager and cluster administrators can create it.
func (g Grants) hasProof(role *rbacv1.Role, binding string) bool {
	name, _ := g.free(metav1.NamespaceAll, role.Name, binding)
	return g.isLifted(role.Rules, name, metav1.NamespaceAll)
}

// addProofs adds the ClusterRoles of Roles whose group does not target all namespaces. Nothing binds them, so they grant
// nothing. They prove that an InstallPlan listed the Role when the InstallPlan no longer exists and the targets change.
func (l *lifted) addProofs(g Grants) {
	for _, b := range g.Bindings {
		role := g.Roles[b.RoleRef.Name]
		if b.RoleRef.Kind != "Role" || role == nil {
			continue
		}
		listed := g.Listed[role.Name] && len(g.Elsewhere()) > 0
		if slices.ContainsFunc(accountsAmong(b.Subjects, g.CSV.Namespace), func(account string) bool {
			return g.provesName(account, role) && (listed || g.hasProof(role, b.Name))
		}) {
			l.addRole(liftedClusterRole(g, role, b.Name))
		}
	}
}

// provesName reports whether the name of a Role is that of a permission of the CSV, with this account and these rules.
func (g Grants) provesName(account string, role *rbacv1.Role) bool {
	return slices.ContainsFunc(g.CSV.Spec.InstallStrategy.StrategySpec.Permissions, func(p operatorsv1alpha1.StrategyDeploymentPermissions) bool {
		return p.ServiceAccountName == account && equality.Semantic.DeepEqual(p.Rules, role.Rules) && PlannedRole(g.CSV.Name, p) == role.Name
	})
}

func (g Grants) isLifted(rules []rbacv1.PolicyRule, name, namespace string) bool {
	return slices.ContainsFunc(g.Kept, func(o metav1.Object) bool {
		return o.GetName() == name && o.GetNamespace() == namespace && len(RulesOf(o)) > 0 &&
			equality.Semantic.DeepEqual(RulesOf(o), liftedRules(rules, namespace))
	})
}

func (g Grants) isBound(account, role, namespace string) bool {
	return slices.ContainsFunc(g.Kept, func(o metav1.Object) bool {
		ref, subjects := Bound(o)
		return o.GetNamespace() == namespace && ref.Name == role && slices.Contains(accountsAmong(subjects, g.CSV.Namespace), account)
	})
}

// Unlisted returns the names of the Roles that are not lifted because no InstallPlan lists them, by account.
func (g Grants) Unlisted() map[string][]string {
	unlisted := map[string][]string{}
	g.each(func(b *rbacv1.RoleBinding, role *rbacv1.Role, namespace string) {
		for _, account := range accountsAmong(b.Subjects, g.CSV.Namespace) {
			if g.lifts(account, role, namespace) && !g.permits(account, role, b.Name, namespace) {
				unlisted[account] = lists.Sorted(append(unlisted[account], role.Name))
			}
		}
	})
	return unlisted
}
