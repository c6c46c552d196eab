package disruption

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// operator returns a version whose Deployments have the selector of kubebuilder's template. The first one serves a webhook.
func operator(deployments ...string) *operatorsv1alpha1.ClusterServiceVersion {
	var specs []operatorsv1alpha1.StrategyDeploymentSpec
	for _, name := range deployments {
		specs = append(specs, installtest.DeploymentOf(name, func(d *appsv1.DeploymentSpec) {
			d.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"control-plane": "controller-manager"}}
			d.Template.Labels = map[string]string{"control-plane": "controller-manager", "app": name}
		}))
	}
	csv := installtest.Operator(installtest.Deployments(specs...), installtest.ServedBy(deployments[0]))
	csv.Namespace, csv.Name, csv.UID = "shop", deployments[0]+".v1", types.UID("uid-of-"+deployments[0])
	return csv
}

// installed is the input of a version with two replicas that asks for maxUnavailable=1.
func installed(deployments ...string) Input {
	csv := operator(deployments...)
	in := Input{
		CSV: csv, Installs: true, Deployments: map[string]*appsv1.Deployment{}, Budgets: map[string]*policyv1.PodDisruptionBudget{},
		Config: subscriptions.Config{Subscription: deployments[0], SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
			Annotations: map[string]string{wellknown.AnnotationAvailabilityBudget: "maxUnavailable=1"},
		}},
		Refused: func(*policyv1.PodDisruptionBudget) string { return "" },
	}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: spec.Name}, Spec: *spec.Spec.DeepCopy()}
		live.Spec.Replicas, live.Spec.Template.Labels[wellknown.LabelCSV] = new(int32(2)), csv.Name
		in.Deployments[spec.Name] = live
	}
	return in
}

func budgetFor(name string, pods map[string]string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: pods}},
	}
}

// No pod has two budgets, whether it belongs to the Deployment, to another one with its labels, or to another operator.
func TestBudgetOfPodsWithTheSameLabels(t *testing.T) {
	for name, test := range map[string]struct {
		other   map[string]string
		created bool
	}{
		"of the Deployment":     {map[string]string{"app": "a"}, false},
		"of another Deployment": {map[string]string{"app": "second"}, false},
		"of another operator":   {map[string]string{"control-plane": "controller-manager", "app": "b"}, true},
	} {
		in := installed("a", "second")
		in.Others = []*policyv1.PodDisruptionBudget{budgetFor("other", test.other)}
		plan := Decide(in)
		installtest.Same(t, "another budget is for pods "+name+": created", test.created, len(plan.Writes) == 1)
		installtest.Same(t, "another budget is for pods "+name+": refused", !test.created, len(plan.Refusals) == 1)
		for _, written := range plan.Writes {
			installtest.Same(t, "it selects the pods of the Deployment", true, selects(written.Spec.Selector, podsOf(in.Deployments["a"], nil).Labels))
			installtest.Same(t, "it selects the pods of another operator", false, selects(written.Spec.Selector, podsOf(installed("b").Deployments["b"], nil).Labels))
		}
	}
}

// neighbourhood is a namespace with operators that are reconciled at the same time.
type neighbourhood struct {
	operators []string
	budgets   map[string]*policyv1.PodDisruptionBudget // by name
	writes    int
}

// round reconciles all operators with what the caches had at its beginning, as two workers do after one event.
func (n *neighbourhood) round() {
	var plans []Plan
	for _, name := range n.operators {
		in := installed(name)
		for _, b := range n.budgets {
			if b.Name == names.Budget(name) {
				in.Budgets[b.Name] = b
			} else {
				in.Others = append(in.Others, b)
			}
		}
		plans = append(plans, Decide(in))
	}
	for _, plan := range plans {
		for _, b := range plan.Writes {
			if n.budgets[b.Name] == nil {
				n.writes++
			}
			n.budgets[b.Name] = b
		}
		for _, d := range plan.Deletes {
			n.writes++
			delete(n.budgets, d.Budget.Name)
		}
	}
}

// Two operators of one namespace have one selector. Each budget selects the pods of its own Deployment.
func TestTwoOperatorsWithOneSelector(t *testing.T) {
	n := &neighbourhood{operators: []string{"a", "b"}, budgets: map[string]*policyv1.PodDisruptionBudget{}}
	for range 10 {
		n.round()
	}
	installtest.Same(t, "writes", 2, n.writes)
	installtest.Same(t, "the number of budgets", 2, len(n.budgets))
}

// The API server refuses a new limit. The old one is deleted if it lets no pod be evicted.
func TestLimitThatCannotBeWritten(t *testing.T) {
	for name, test := range map[string]struct {
		old     string
		deleted bool
	}{
		"it blocks drains":    {"2", true},
		"it blocks no drains": {"1", false},
	} {
		in := installed("a")
		old := Decide(in).Writes[0].DeepCopy()
		old.Spec.MaxUnavailable, old.Spec.MinAvailable = nil, limit("minAvailable", test.old).MinAvailable
		in.Budgets[old.Name] = old
		in.Refused = func(*policyv1.PodDisruptionBudget) string { return "the account has no permission to update it" }
		plan := Decide(in)
		installtest.Same(t, name+": whether it is deleted", test.deleted, len(plan.Deletes) == 1)
		installtest.Contains(t, plan.Refusals[0], "the account has no permission to update it")
	}
}

// Without the annotation, there is no budget, also while a requirement is not met, and for a Deployment that an upgrade has not
// reached.
func TestBudgetWithoutTheAnnotation(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*Input)
		annotated bool
		deletions int
	}{
		"installs":                            {func(*Input) {}, false, 1},
		"a requirement is not met":            {func(in *Input) { in.Installs = false }, false, 1},
		"not reached":                         {func(in *Input) { in.Older, in.Deployments = in.Deployments, nil }, false, 1},
		"annotated":                           {func(*Input) {}, true, 0},
		"annotated, a requirement is not met": {func(in *Input) { in.Installs = false }, true, 0},
		"annotated, not reached":              {func(in *Input) { in.Older, in.Deployments = in.Deployments, nil }, true, 0},
	} {
		in := installed("a")
		live := Decide(in).Writes[0]
		in.Budgets[live.Name] = live
		if !test.annotated {
			in.Config.Annotations = nil
		}
		test.change(&in)
		installtest.Same(t, name+": deletions", test.deletions, len(Decide(in).Deletes))
	}
}
