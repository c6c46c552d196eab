package rollout

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/disruption"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// budgeter writes the PodDisruptionBudgets that annotations ask for. A budget that keeps nodes from being drained is not
// created, and is deleted if it exists, in each state of the version.
type budgeter struct {
	*facts
	*outcome
	plan *planBuilder
	kept []budgetedPods // of Deployments that were decided about before
}

type budgetedPods struct {
	deployment string
	budget     *policyv1.PodDisruptionBudget
	labels     []labels.Set
}

// budgetPause is the pause before the budgets of a namespace are needed again that are being read.
const budgetPause = time.Second

// decide creates and changes budgets only if installs is set, while the version may be installed.
func (b *budgeter) decide(installs bool) {
	declared := map[string]bool{}
	for _, spec := range csvspec.Deployments(b.CSV) {
		declared[names.Budget(spec.Name)] = true
		if d := b.Observed.Deployments[spec.Name]; d != nil && b.Upgrade.olderOwner(d) == nil {
			b.decideOne(spec, d, installs)
		}
	}
	for _, live := range lists.ByKey(b.Observed.Budgets) {
		if installs && !declared[live.Name] && csvspec.OwnedBy(live, b.CSV) {
			b.delete(live)
		}
	}
}

// decideOne judges a live budget as it is while the version may not be installed.
func (b *budgeter) decideOne(spec operatorsv1alpha1.StrategyDeploymentSpec, d *appsv1.Deployment, installs bool) {
	var desired *policyv1.PodDisruptionBudget
	live, held := b.Observed.Budgets[names.Budget(spec.Name)], takeover.Keeps(csvspec.TakeoverOrder(b.CSV))
	if !held { // While Deployments stay as olm-operator made them, or are given back to it, nothing is added.
		desired = render.Budget(b.CSV, b.Config, spec)
	}
	judged := desired
	if live != nil && !installs && !held {
		judged = live
	}
	if judged == nil {
		b.delete(live)
		return
	}
	pods := b.podsOf(d)
	why := b.whyNot(judged, pods)
	if why != "" {
		b.delete(live)
	} else if live != nil || installs {
		b.kept = append(b.kept, budgetedPods{spec.Name, judged, pods.Labels})
		why = b.write(judged, live, installs)
	}
	if why != "" && desired != nil {
		b.refusedBudgets = append(b.refusedBudgets, b.Config.RefuseBudget(b.CSV, spec.Name, why))
	}
}

// podsOf includes the labels of existing pods: during a rollout, they can differ from those of the template.
func (b *budgeter) podsOf(d *appsv1.Deployment) disruption.Pods {
	pods := disruption.Pods{Replicas: ptr.Deref(d.Spec.Replicas, 1), Labels: []labels.Set{d.Spec.Template.Labels}}
	for _, pod := range b.Observed.Pods[d.Name] {
		pods.Labels = append(pods.Labels, pod.Labels)
	}
	return pods
}

// whyNot returns why a budget must not exist; empty if it may.
func (b *budgeter) whyNot(budget *policyv1.PodDisruptionBudget, pods disruption.Pods) string {
	for _, earlier := range b.kept {
		if disruption.Selects(budget.Spec.Selector, earlier.labels) {
			return fmt.Sprintf("its selector also selects the pods of Deployment %s, which have PodDisruptionBudget %s: correct the selectors in the ClusterServiceVersion", earlier.deployment, earlier.budget.Name)
		}
	}
	return disruption.Refusal(budget.Spec, pods, b.others(budget))
}

// others returns the budgets that stay: those of other clients, of Deployments that were decided about before, and of
// Deployments that only a previous version has.
func (b *budgeter) others(budget *policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	all := lists.Filter(b.Observed.OtherBudgets, func(other *policyv1.PodDisruptionBudget) bool { return other.Name != budget.Name })
	for _, earlier := range b.kept {
		all = append(all, earlier.budget)
	}
	for _, live := range lists.ByKey(b.Observed.Budgets) {
		if b.Upgrade.Ends(live) && live.Name != budget.Name {
			all = append(all, live)
		}
	}
	return all
}

// write returns why a budget is not written. Another client may have its name.
func (b *budgeter) write(budget, live *policyv1.PodDisruptionBudget, installs bool) (why string) {
	switch {
	case !installs:
		return ""
	case lists.First(b.Observed.OtherBudgets, func(other *policyv1.PodDisruptionBudget) bool { return other.Name == budget.Name }) != nil:
		return fmt.Sprintf("PodDisruptionBudget %s is not the manager's: delete it, or remove the annotation", budget.Name)
	case live == nil && b.Observed.OtherBudgetsUnknown:
		b.plan.requeue(b.now.Add(budgetPause), "the PodDisruptionBudgets of the namespace are being read") // without any, no event reports that they are
		return ""
	case live == nil:
		b.plan.ensure(budget, nil)
	default:
		b.plan.ensure(budget, live)
	}
	return b.Observed.WriteRefusal(budget)
}

func (b *budgeter) delete(live *policyv1.PodDisruptionBudget) {
	if live != nil && !b.plan.writes(drift.KeyOf(live)) {
		b.plan.delete(live)
	}
}
