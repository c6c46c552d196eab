package permissions

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func permission(account string, rules ...rbacv1.PolicyRule) operatorsv1alpha1.StrategyDeploymentPermissions {
	return operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: rules}
}

// RBACForClusterServiceVersion of operator-lifecycle-manager v0.46.0 returned these names.
func TestPlannedRole(t *testing.T) {
	const long = "a-very-long-name-of-an-operator-that-is-truncated.v1.2.3"
	reads := permission("manager", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}})
	escaped := permission("m<&>",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"*"}, ResourceNames: []string{"x"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
	for _, test := range []struct {
		csv        string
		permission operatorsv1alpha1.StrategyDeploymentPermissions
		want       string
	}{
		{"shop.v1", reads, "shop.v1-manager-3EeQhkfpLyeY4F9DQUbhkcxDtM6IhK9kkypRGI"},
		{"shop.v1", escaped, "shop.v1-m<&>-6xedTH7Thsrxjz61swadOXc7qt4H69y3jPydrp"},
		{long, reads, "a-very-long-name-of-an-o-7DqEA6pRwC1LOwj1tCHbR6wLz7AXh0TopzazIF"},
		{long, escaped, "a-very-long-name-of-an-o-9McGKRIhGwSwEPimjTVmKR0WH8PBdiDKcNduQU"},
	} {
		installtest.Same(t, "the name of the Role", test.want, PlannedRole(test.csv, test.permission))
	}
}

// planOf returns an approved InstallPlan with one step.
func planOf(step operatorsv1alpha1.Step) *operatorsv1alpha1.InstallPlan {
	plan := &operatorsv1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "install-1"}}
	plan.Spec.Approved, plan.Status.Phase = true, operatorsv1alpha1.InstallPlanPhaseInstalling
	plan.Status.Plan = []*operatorsv1alpha1.Step{nil, &step}
	return plan
}

func roleStep(name string, status operatorsv1alpha1.StepStatus) operatorsv1alpha1.Step {
	return operatorsv1alpha1.Step{Resolving: "shop.v1", Status: status, Resource: operatorsv1alpha1.StepResource{Group: rbacv1.GroupName, Version: "v1", Kind: "Role", Name: name}}
}

func TestListedRoles(t *testing.T) {
	created := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	endedAt := func(phase operatorsv1alpha1.InstallPlanPhase, at time.Time) func(*operatorsv1alpha1.InstallPlan) {
		return func(plan *operatorsv1alpha1.InstallPlan) {
			plan.Status.Phase = phase
			plan.Status.Conditions = []operatorsv1alpha1.InstallPlanCondition{{Type: operatorsv1alpha1.InstallPlanInstalled, LastTransitionTime: &metav1.Time{Time: at}}}
		}
	}
	step := func(change func(*operatorsv1alpha1.Step)) func(*operatorsv1alpha1.InstallPlan) {
		return func(plan *operatorsv1alpha1.InstallPlan) { change(plan.Status.Plan[1]) }
	}
	for name, test := range map[string]struct {
		change func(*operatorsv1alpha1.InstallPlan)
		want   bool
	}{
		"a Role that was created": {func(*operatorsv1alpha1.InstallPlan) {}, true},
		"a Role that existed":     {step(func(s *operatorsv1alpha1.Step) { s.Status = operatorsv1alpha1.StepStatusPresent }), true},
		"a step to do":            {step(func(s *operatorsv1alpha1.Step) { s.Status = operatorsv1alpha1.StepStatusUnknown }), true},
		"a step that failed": {func(plan *operatorsv1alpha1.InstallPlan) {
			plan.Status.Phase, plan.Status.Plan[1].Status = operatorsv1alpha1.InstallPlanPhaseFailed, operatorsv1alpha1.StepStatusUnknown
		}, false},
		"another CSV":             {step(func(s *operatorsv1alpha1.Step) { s.Resolving = "till.v1" }), false},
		"a ClusterRole":           {step(func(s *operatorsv1alpha1.Step) { s.Resource.Kind = "ClusterRole" }), false},
		"a Role of another group": {step(func(s *operatorsv1alpha1.Step) { s.Resource.Group = "example.com" }), false},
		"another namespace":       {func(plan *operatorsv1alpha1.InstallPlan) { plan.Namespace = "till" }, false},
		"a plan without approval": {func(plan *operatorsv1alpha1.InstallPlan) { plan.Spec.Approved = false }, false},

		"complete after the CSV was created":      {endedAt(operatorsv1alpha1.InstallPlanPhaseComplete, created.Add(time.Hour)), true},
		"complete, and the clocks differ":         {endedAt(operatorsv1alpha1.InstallPlanPhaseComplete, created.Add(-time.Minute)), true},
		"complete before the CSV was created":     {endedAt(operatorsv1alpha1.InstallPlanPhaseComplete, created.Add(-time.Minute-1)), false},
		"failed before the CSV was created":       {endedAt(operatorsv1alpha1.InstallPlanPhaseFailed, created.Add(-time.Hour)), false},
		"still installing, with an old condition": {endedAt(operatorsv1alpha1.InstallPlanPhaseInstalling, created.Add(-time.Hour)), true},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.CreationTimestamp = metav1.Time{Time: created}
			plan := planOf(roleStep("reader", operatorsv1alpha1.StepStatusCreated))
			test.change(plan)
			installtest.Same(t, "the Role is listed", test.want, ListedRoles(csv, []*operatorsv1alpha1.InstallPlan{plan}, time.Minute)["reader"])
		})
	}
}

// A client that may write ClusterServiceVersions, Roles and RoleBindings cannot lift what no InstallPlan lists.
func TestLiftOnlyListed(t *testing.T) {
	reads, everything := installtest.Policies(installtest.ReadPods), installtest.Policies(installtest.Everything)
	planned := PlannedRole("shop.v1", permission("manager", reads...))
	lifted := []metav1.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: planned}, Rules: append(reads, ReadNamespaces)},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: planned}, Subjects: Subjects("shop", "manager"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: planned}},
	}
	inTarget := func(role string, rules []rbacv1.PolicyRule, accounts ...string) []metav1.Object {
		return []metav1.Object{
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: role}, Rules: rules},
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: role}, Subjects: Subjects("shop", accounts...), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role}},
		}
	}
	all, blue := []string{""}, []string{"blue", "shop"}
	for name, test := range map[string]struct {
		role     string // "": the planned one
		rules    []rbacv1.PolicyRule
		accounts []string // of the binding; none: manager
		asked    []operatorsv1alpha1.StrategyDeploymentPermissions
		targets  []string // none: all
		listed   string
		kept     []metav1.Object
		want     string // the accounts to which the Role is lifted
		unlisted string // those to which it is not, because no InstallPlan lists it
	}{
		"listed":                              {listed: planned, want: "manager"},
		"listed, in a target":                 {listed: planned, targets: blue, want: "manager"},
		"not listed":                          {unlisted: "manager"},
		"another Role is listed":              {listed: "other", unlisted: "manager"},
		"a Role of any name, which is listed": {role: "reader", listed: "reader", unlisted: "manager"},
		"other rules under the listed name": {
			listed: planned, rules: everything, asked: []operatorsv1alpha1.StrategyDeploymentPermissions{permission("manager", everything...)}, unlisted: "manager",
		},
		"more rules in the CSV than the Role has": {
			listed: planned, asked: []operatorsv1alpha1.StrategyDeploymentPermissions{permission("manager", append(reads, everything...)...)}, unlisted: "manager",
		},
		"another account in CSV and binding": {
			listed: planned, accounts: []string{"manager", "tenant"}, want: "manager", unlisted: "tenant",
			asked: []operatorsv1alpha1.StrategyDeploymentPermissions{permission("manager", reads...), permission("tenant", reads...)},
		},

		"lifted before the InstallPlan was deleted": {kept: lifted, want: "manager"},
		"only the ClusterRole is left":              {kept: lifted[:1], want: "manager"},
		"only the ClusterRoleBinding is left":       {kept: lifted[1:], want: "manager"},
		"the lifted ClusterRole has other rules": {
			kept: []metav1.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: planned}, Rules: everything}}, unlisted: "manager",
		},
		"lifted for all namespaces, now for one":  {kept: lifted, targets: blue, want: "manager"},
		"the ClusterRole proves it for a target":  {kept: lifted[:1], targets: blue, want: "manager"},
		"only a ClusterRoleBinding, for a target": {kept: lifted[1:], targets: blue, unlisted: "manager"},
		"lifted in the target":                    {kept: inTarget(planned, reads, "manager"), targets: blue, want: "manager"},
		"lifted under any name, before with-olm":  {role: "reader", kept: inTarget("reader", reads, "manager"), targets: blue, want: "manager"},
		"only a Role in the target":               {kept: inTarget(planned, reads, "manager")[:1], targets: blue, unlisted: "manager"},
		"only a RoleBinding in the target":        {kept: inTarget(planned, reads, "manager")[1:], targets: blue, unlisted: "manager"},
		"a Role in the target with fewer rules":   {kept: inTarget(planned, nil, "manager"), targets: blue, unlisted: "manager"},
		"lifted for another account":              {kept: inTarget(planned, reads, "other"), targets: blue, unlisted: "manager"},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.InstallStrategy.StrategySpec.Permissions = test.asked
			if test.asked == nil {
				csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{permission("manager", reads...)}
			}
			if test.role == "" {
				test.role = planned
			}
			if test.rules == nil {
				test.rules = reads
			}
			if test.accounts == nil {
				test.accounts = []string{"manager"}
			}
			if test.targets == nil {
				test.targets = all
			}
			g := grantsOf(csv, test.role, test.rules, test.accounts...)
			g.Targets, g.Listed, g.Kept = test.targets, map[string]bool{test.listed: true}, test.kept
			var to []string
			for _, o := range Lift(g) {
				_, subjects := Bound(o)
				to = append(to, accountsAmong(subjects, "shop")...)
			}
			installtest.Same(t, "the accounts to which it is lifted", test.want, strings.Join(to, " "))
			installtest.Same(t, "the accounts to which it is not", test.unlisted, strings.Join(slices.Sorted(maps.Keys(g.Unlisted())), " "))
			g.OnlyListed = false
			installtest.Same(t, "accounts that lack a listed Role, without the rule", 0, len(g.Unlisted()))
		})
	}
}

func grantsOf(csv *operatorsv1alpha1.ClusterServiceVersion, role string, rules []rbacv1.PolicyRule, accounts ...string) Grants {
	return Grants{
		CSV: csv, Foreign: map[string]bool{}, OnlyListed: true,
		Roles:    map[string]*rbacv1.Role{role: {ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: role}, Rules: rules}},
		Bindings: []*rbacv1.RoleBinding{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: role}, Subjects: Subjects("shop", accounts...), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role}}},
	}
}

// The ClusterRole of a listed Role outlives its InstallPlan, so that the targets of the group can change.
func TestProofOfAListedRole(t *testing.T) {
	reads := installtest.Policies(installtest.ReadPods)
	csv := installtest.Operator(nil)
	csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{permission("manager", reads...)}
	planned := PlannedRole(csv.Name, csv.Spec.InstallStrategy.StrategySpec.Permissions[0])
	proof := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: planned}, Rules: append(reads, ReadNamespaces)}
	for name, test := range map[string]struct {
		role    string
		targets []string
		listed  bool
		kept    []metav1.Object
		want    string // the lifted objects
	}{
		"listed, with another target": {targets: []string{"blue", "shop"}, listed: true, want: "Role ClusterRole RoleBinding"},
		"listed, with its own target": {targets: []string{"shop"}, listed: true},
		"proven, with its own target": {targets: []string{"shop"}, kept: []metav1.Object{proof}, want: "ClusterRole"},
		"proven, with another target": {targets: []string{"blue", "shop"}, kept: []metav1.Object{proof}, want: "Role ClusterRole RoleBinding"},
		"proven, in all namespaces":   {targets: []string{""}, kept: []metav1.Object{proof}, want: "ClusterRole ClusterRoleBinding"},
		"neither":                     {targets: []string{"blue", "shop"}},
		"a listed Role of any name":   {role: "reader", targets: []string{"blue", "shop"}, listed: true},
	} {
		t.Run(name, func(t *testing.T) {
			role := cmp.Or(test.role, planned)
			g := grantsOf(csv, role, reads, "manager")
			g.Targets, g.Listed, g.Kept = test.targets, map[string]bool{role: test.listed}, test.kept
			kinds := lists.Map(Lift(g), func(o metav1.Object) string {
				return o.(interface{ GetObjectKind() schema.ObjectKind }).GetObjectKind().GroupVersionKind().Kind
			})
			installtest.Same(t, "lifted objects", test.want, strings.Join(kinds, " "))
		})
	}
}
