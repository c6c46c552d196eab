package decide

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

var now = time.Unix(1_700_000_000, 0)

// stageFacts returns facts about a CSV whose OperatorGroup covers all namespaces, and whose installer granted a Role.
func stageFacts() Facts {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator.v1", UID: "1"}}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}
	csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "operator", Rules: rules}}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator"}, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "shop", Name: "operator"}},
	}
	return Facts{
		Settings: Settings{LiftRoles: true},
		CSV:      csv,
		Scope: scope.Scope{
			Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}}, Namespaces: []string{""},
		},
		Requirements: requirements.Facts{
			CSV: csv, Targets: []string{""}, ServiceAccounts: map[string]*corev1.ServiceAccount{"operator": installtest.AccountOf("operator")},
			Access: permissions.Access{Everywhere: map[string][]rbacv1.PolicyRule{}},
		},
		Grants: permissions.Grants{
			CSV: csv, Targets: []string{""}, Roles: map[string]*rbacv1.Role{"operator": role}, Bindings: []*rbacv1.RoleBinding{binding}, Foreign: map[string]bool{},
		},
		Observed: rollout.Observed{Refused: map[string]string{}},
	}
}

// decided returns the plan for some facts. It fails if the decision changes the facts or the results.
func decided(t *testing.T, f Facts, results ...Result) Plan {
	t.Helper()
	return answered(t, f, Results{Learned: results, Answers: NewAnswers()})
}

func answered(t *testing.T, f Facts, results Results) Plan {
	t.Helper()
	before := dump.ForHash(f) + dump.ForHash(results)
	plan, err := Decide(f, results, now)
	installtest.Must(t, err)
	installtest.Same(t, "facts and results after the decision", before, dump.ForHash(f)+dump.ForHash(results))
	return plan
}

// stepsOf returns the steps of a plan of an early stage.
func stepsOf(plan Plan) []string {
	return lists.Map(plan.Steps, func(step rollout.Step) string { return string(step.Verb) + " " + step.Key() })
}

// Each stage waits for what the previous one wrote: metadata, lifted roles, their bindings.
func TestStages(t *testing.T) {
	f := stageFacts()
	var results []Result
	for _, want := range []string{
		"patch ClusterServiceVersion shop/operator.v1",
		"create ClusterRole operator",
		"create ClusterRoleBinding operator",
	} {
		plan := decided(t, f, results...)
		installtest.Same(t, "steps", []string{want}, stepsOf(plan))
		installtest.Same(t, "it continues", true, plan.Continues)
		results = append(results, Written{Step: plan.Steps[0], Object: plan.Steps[0].Object})
	}
	last := decided(t, f, results...)
	if last.Continues || len(last.Steps) > 0 || len(last.NotLifted) > 0 {
		t.Errorf("continues: %t, steps: %v, not lifted: %v", last.Continues, stepsOf(last), last.NotLifted)
	}
	if len(last.Phases) == 0 || !last.Verdict.Passes() {
		t.Errorf("phases: %v, verdict: %+v", last.Phases, last.Verdict)
	}
}

func TestMetadataOfAClusterServiceVersion(t *testing.T) {
	key := "ClusterServiceVersion shop/operator.v1"
	contested := drift.FieldContest{Values: map[string]string{finalizersField: wellknown.FinalizerCSV}}
	for range 3 {
		contested.Repairs = contested.Repairs.Repaired(drift.Drift{Fields: []string{finalizersField}}, now)
	}
	for name, test := range map[string]struct {
		change  func(*Facts)
		patched bool
		want    []string // fields that are written
		problem bool     // the requirement of the finalizer is not met
	}{
		"without a scope": {change: func(f *Facts) { f.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonNoOperatorGroup} }, want: []string{finalizersField}},
		"complete": {change: func(f *Facts) {
			f.CSV.Finalizers, f.CSV.Annotations = []string{wellknown.FinalizerCSV}, f.Scope.Annotations()
		}},
		"while it is deleted": {change: func(f *Facts) { f.Deleting = true }},
		"refused":             {change: func(f *Facts) { f.Observed.Refused[key] = "denied" }, problem: true},
		"reverted by admission": {change: func(f *Facts) {
			f.CSV.Annotations = f.Scope.Annotations()
		}, patched: true, problem: true},
		"reverted too often": {change: func(f *Facts) {
			f.CSV.Annotations, f.FieldContests = f.Scope.Annotations(), map[string]drift.FieldContest{key: contested}
		}, problem: true},
		"refused after the start": {change: func(f *Facts) { f.Observed.Refused[key], f.Upgrade.Started = "denied", true }},
	} {
		t.Run(name, func(t *testing.T) {
			f := stageFacts()
			test.change(&f)
			d := newDecision(f, Results{}, now)
			d.patched[key] = test.patched
			var got []string
			for _, step := range d.metadataSteps() {
				got = slices.Sorted(maps.Keys(step.Fields))
			}
			installtest.Same(t, "plan", test.want, got)
			installtest.Same(t, "there is a problem with the finalizer", test.problem, d.finalizerProblem() != "")
		})
	}
}

// A binding is not written to a role that another client created or changed.
func TestRoleOfAnotherClientIsNotBound(t *testing.T) {
	existing := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
	f := stageFacts()
	f.CSV.Finalizers, f.CSV.Annotations = []string{wellknown.FinalizerCSV}, f.Scope.Annotations()
	plan := decided(t, f)
	plan = decided(t, f, Occupied{Step: plan.Steps[0], Existing: existing})
	installtest.Same(t, "it continues", false, plan.Continues)
	installtest.Same(t, "not lifted", []string{"ClusterRole operator", "ClusterRoleBinding operator"}, slices.Sorted(maps.Keys(plan.NotLifted)))
}

// Admission that changes a lifted role or its binding changes what the binding grants. A refused deletion is not repeated.
func TestRevokedLift(t *testing.T) {
	f := stageFacts()
	f.CSV.Finalizers, f.CSV.Annotations = []string{wellknown.FinalizerCSV}, f.Scope.Annotations()
	role := decided(t, f).Steps[0]
	binding := decided(t, f, Written{Step: role, Object: role.Object}).Steps[0]
	written := func(step rollout.Step, change func(o any)) Written {
		answer := step.Object.DeepCopyObject().(drift.Object)
		answer.SetUID("of " + types.UID(step.Key()))
		change(answer)
		return Written{Step: step, Object: answer, Write: drift.WriteOf(step.Object, answer)}
	}
	unchanged := func(any) {}
	for name, test := range map[string]struct {
		role, binding func(any)
		want          []string
	}{
		"nothing is changed":     {unchanged, unchanged, nil},
		"the rules are":          {func(o any) { o.(*rbacv1.ClusterRole).Rules[0].Resources = []string{"*"} }, unchanged, []string{"ClusterRoleBinding operator: admission changed rules of the role"}},
		"the subjects are":       {unchanged, func(o any) { o.(*rbacv1.ClusterRoleBinding).Subjects[0].Namespace = "tenant" }, []string{"ClusterRoleBinding operator: admission changed subjects, roleRef"}},
		"a label of the role is": {func(o any) { o.(*rbacv1.ClusterRole).Labels["olm.owner.kind"] = "other" }, unchanged, nil},
	} {
		t.Run(name, func(t *testing.T) {
			results := []Result{written(role, test.role), written(binding, test.binding)}
			// What is carried out is not repeated in the same reconciliation: this is the next one.
			d := newDecision(f, Results{Learned: results}, now)
			f := f
			f.Observed = d.Observed
			plan := decided(t, f)
			steps := slices.DeleteFunc(slices.Clone(plan.Steps), func(s rollout.Step) bool { return s.Verb != rollout.Delete })
			installtest.Same(t, "deletions", test.want, lists.Map(steps, func(s rollout.Step) string { return s.Key() + ": " + s.Why() }))
			if len(steps) > 0 {
				refused := decided(t, f, Refused{Step: steps[0], Why: "denied"})
				installtest.Same(t, "it is repeated", false, slices.ContainsFunc(refused.Steps, func(s rollout.Step) bool { return s.Key() == steps[0].Key() }))
			}
		})
	}
}
