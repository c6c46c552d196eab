// Package disruption decides whether pods may have a PodDisruptionBudget: it must not keep nodes from being drained.
package disruption

import (
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Pods are the pods of one Deployment.
type Pods struct {
	Replicas int32 // spec.replicas
	// Labels are those of the pod template, and of the existing pods.
	Labels []labels.Set
}

// Refusal returns why the pods must not have a budget, with the next step; empty if they may. others are the other budgets
// of the namespace.
func Refusal(budget policyv1.PodDisruptionBudgetSpec, pods Pods, others []*policyv1.PodDisruptionBudget) string {
	if other := selecting(others, pods); other != nil {
		return fmt.Sprintf("PodDisruptionBudget %s selects its pods, and API servers do not evict a pod that has two: delete the PodDisruptionBudget, or remove the annotation", other.Name)
	}
	if pods.Replicas > 0 && evictable(budget, int(pods.Replicas)) <= 0 {
		return fmt.Sprintf("with spec.replicas %d no pod could be evicted, and no node of the pods could be drained: add replicas, or lower the limit", pods.Replicas)
	}
	return ""
}

// selecting returns the first budget that selects any of the pods; nil for none.
func selecting(budgets []*policyv1.PodDisruptionBudget, pods Pods) *policyv1.PodDisruptionBudget {
	return lists.First(budgets, func(budget *policyv1.PodDisruptionBudget) bool { return selects(budget.Spec.Selector, pods.Labels) })
}

// selects reports whether a selector selects pods with any of some labels. As in API servers, no selector selects nothing,
// and an empty one everything.
func selects(selector *metav1.LabelSelector, pods []labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && slices.ContainsFunc(pods, func(pod labels.Set) bool { return s.Matches(pod) })
}

// evictable returns how many of some ready pods the budget lets be evicted at once, as the disruption controller computes it.
func evictable(budget policyv1.PodDisruptionBudgetSpec, pods int) int {
	if budget.MaxUnavailable != nil {
		return scaled(budget.MaxUnavailable, pods)
	}
	return pods - scaled(budget.MinAvailable, pods)
}

// scaled rounds a percentage up. No limit counts as all pods: the disruption controller then allows no eviction.
func scaled(limit *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, pods, true)
	if err != nil {
		return pods
	}
	return n
}
