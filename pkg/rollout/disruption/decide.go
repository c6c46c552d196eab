package disruption

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// Input is what the budgets of one version depend on.
type Input struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Replaced are the existing versions that it replaces.
	Replaced []*operatorsv1alpha1.ClusterServiceVersion
	Config   subscriptions.Config
	// Installs is set while the version may be installed. Otherwise no budget is created or changed.
	Installs bool
	// Deployments are the Deployments of the version that it has rolled out, by name.
	Deployments map[string]*appsv1.Deployment
	// Older are the Deployments that it has not rolled out yet, and the Deployments of replaced versions alone, by name. Their budgets
	// are judged as they are.
	Older map[string]*appsv1.Deployment
	Pods  map[string][]*corev1.Pod // by name of the Deployment
	// Budgets are those of the version and of the versions that it replaces, by name.
	Budgets map[string]*policyv1.PodDisruptionBudget
	// Others are the other budgets of the namespace.
	Others []*policyv1.PodDisruptionBudget
	// OthersUnknown is set until they are read.
	OthersUnknown bool
	// Refused returns why the API server refuses to write a budget; empty if it does not.
	Refused func(*policyv1.PodDisruptionBudget) string
}

// Plan is what to do with the budgets of one version.
type Plan struct {
	Writes []*policyv1.PodDisruptionBudget
	// Deletes are live budgets. One that is to be written, too, is deleted if the manager cannot write it now.
	Deletes []Deletion
	// Refusals are messages about Deployments without the budget that the annotation asks for.
	Refusals []string
	// Waits is set if a budget is not created until the others are read.
	Waits bool
}

// Deletion is that of a live budget.
type Deletion struct {
	Budget *policyv1.PodDisruptionBudget
	// Conflicts is set if another client's budget is the cause.
	Conflicts bool
}

// Decide returns what to do. A budget that keeps nodes from being drained is deleted in each state of the version.
func Decide(in Input) Plan {
	d := &decision{Input: in}
	declared := map[string]bool{}
	for _, spec := range csvspec.Deployments(in.CSV) {
		declared[names.Budget(spec.Name)] = true
		if deployment := in.Deployments[spec.Name]; deployment != nil {
			d.decideOne(spec, podsOf(deployment, in.Pods[spec.Name]))
		}
	}
	for _, older := range lists.ByKey(in.Older) {
		d.decideOlder(older)
	}
	for _, live := range lists.ByKey(in.Budgets) {
		if in.Installs && !declared[live.Name] && csvspec.OwnedBy(live, in.CSV) {
			d.delete(live)
		}
	}
	return d.Plan
}

type decision struct {
	Input
	Plan
	kept []budgetedPods // of Deployments that were decided about before
}

type budgetedPods struct {
	deployment string
	budget     *policyv1.PodDisruptionBudget
	labels     []labels.Set
}

// decideOne judges a live budget as it is while the version may not be installed.
func (d *decision) decideOne(spec operatorsv1alpha1.StrategyDeploymentSpec, pods Pods) {
	var desired *policyv1.PodDisruptionBudget
	live, held := d.Budgets[names.Budget(spec.Name)], takeover.Keeps(csvspec.TakeoverOrder(d.CSV))
	if !held { // While Deployments stay as olm-operator made them, or are given back to it, nothing is added.
		desired = render.Budget(d.CSV, d.Replaced, d.Config, spec)
	}
	if desired == nil {
		d.delete(live)
		return
	}
	judged := desired
	if live != nil && !d.Installs {
		judged = live
	}
	why := d.whyNot(judged, pods)
	if why != "" || live != nil && d.whyNot(live, pods) != "" {
		d.deleteWith(live, pods)
	}
	if why == "" && (live != nil || d.Installs) {
		d.kept = append(d.kept, budgetedPods{spec.Name, judged, pods.Labels})
		why = d.write(judged, live)
	}
	if why != "" {
		d.Refusals = append(d.Refusals, d.Config.RefuseBudget(d.CSV, spec.Name, why))
	}
}

// decideOlder decides about the budget of a Deployment that a replaced version has left. Nothing else judges it: an upgrade can
// stop for hours.
func (d *decision) decideOlder(older *appsv1.Deployment) {
	live, pods := d.Budgets[names.Budget(older.Name)], podsOf(older, d.Pods[older.Name])
	switch {
	case live == nil:
	case !d.Config.HasBudget(d.CSV):
		d.delete(live)
	case d.whyNot(live, pods) != "":
		d.deleteWith(live, pods)
	default:
		d.kept = append(d.kept, budgetedPods{older.Name, live, pods.Labels})
	}
}

// podsOf includes the labels of existing pods: during a rollout, they can differ from those of the template.
func podsOf(d *appsv1.Deployment, existing []*corev1.Pod) Pods {
	pods := Pods{Replicas: ptr.Deref(d.Spec.Replicas, 1), Labels: []labels.Set{d.Spec.Template.Labels}}
	for _, pod := range existing {
		pods.Labels = append(pods.Labels, pod.Labels)
	}
	return pods
}

// whyNot returns why a budget must not exist; empty if it may.
func (d *decision) whyNot(budget *policyv1.PodDisruptionBudget, pods Pods) string {
	others := d.others(budget)
	for _, earlier := range d.kept {
		if selects(budget.Spec.Selector, earlier.labels) {
			return fmt.Sprintf("its selector also selects the pods of Deployment %s, which have PodDisruptionBudget %s: correct the selectors in the ClusterServiceVersion", earlier.deployment, earlier.budget.Name)
		}
		others = append(others, earlier.budget)
	}
	return Refusal(budget.Spec, d.withSelected(pods, budget), others)
}

// others returns the budgets with other names.
func (d *decision) others(budget *policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	return lists.Filter(d.Others, func(other *policyv1.PodDisruptionBudget) bool { return other.Name != budget.Name })
}

// withSelected adds the pods of all Deployments that a budget selects: these must not have another one, either.
func (d *decision) withSelected(pods Pods, budget *policyv1.PodDisruptionBudget) Pods {
	var all []labels.Set
	for _, deployments := range []map[string]*appsv1.Deployment{d.Deployments, d.Older} {
		for name, deployment := range deployments {
			all = append(all, podsOf(deployment, d.Pods[name]).Labels...)
		}
	}
	selected := lists.Filter(all, func(pod labels.Set) bool { return selects(budget.Spec.Selector, []labels.Set{pod}) })
	return Pods{Replicas: pods.Replicas, Labels: slices.Concat(pods.Labels, selected)}
}

// write returns why a budget is not written. Another client may have its name.
func (d *decision) write(budget, live *policyv1.PodDisruptionBudget) (why string) {
	sameName := func(other *policyv1.PodDisruptionBudget) bool { return other.Name == budget.Name }
	switch {
	case !d.Installs:
		return ""
	case lists.First(d.Others, sameName) != nil:
		return fmt.Sprintf("PodDisruptionBudget %s is not the manager's: delete it, or remove the annotation", budget.Name)
	case live == nil && d.OthersUnknown:
		d.Waits = true
		return ""
	}
	d.Writes = append(d.Writes, budget)
	return d.Refused(budget)
}

func (d *decision) delete(live *policyv1.PodDisruptionBudget) {
	if live != nil {
		d.Deletes = append(d.Deletes, Deletion{Budget: live})
	}
}

// deleteWith deletes the budget of some pods, and records whether another client's budget is the cause.
func (d *decision) deleteWith(live *policyv1.PodDisruptionBudget, pods Pods) {
	if live != nil {
		d.Deletes = append(d.Deletes, Deletion{live, selecting(d.others(live), d.withSelected(pods, live)) != nil})
	}
}
