package lint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// availabilityChecks are about webhooks with failurePolicy Fail: while they do not answer,
// somebody's requests fail. Deployments whose webhooks all fail open are left alone.
var availabilityChecks = []Check{
	{
		Code: "one-replica", Level: Warning, Basis: Policy,
		Explain: `With one replica the webhook is away whenever its pod is: when its node is drained, when it is evicted, while it restarts. With failurePolicy Fail the requests that
it intercepts fail meanwhile. Write replicas: 2, or more, and spread them over nodes.`,
		find: behindFail(func(_ *subject, d deployment) (string, string, string) {
			if d.Spec.Replicas != nil && *d.Spec.Replicas != 1 {
				return "", "", ""
			}
			return "spec.replicas", fmt.Sprintf("whenever the one pod of %s is away, what its webhooks intercept fails", d.Name), "write replicas: 2"
		}),
	},
	{
		Code: "no-disruption-budget", Level: Warning, Basis: Policy,
		Explain: `Without a PodDisruptionBudget, draining nodes may evict all replicas at once, and with failurePolicy Fail the requests that the webhook intercepts fail until one is back.
Bundles may bring one: maxUnavailable: 1, with the labels of the pods.`,
		find: behindFail(func(s *subject, d deployment) (string, string, string) {
			if d.Spec.Replicas == nil || *d.Spec.Replicas < 2 || budgeted(s, d) {
				return "", "", ""
			}
			return "spec.replicas", fmt.Sprintf("draining nodes may take all pods of %s away at once: no PodDisruptionBudget of the bundle selects them", d.Name), "add one to the bundle, with maxUnavailable: 1"
		}),
	},
	{
		Code: "no-readiness-probe", Level: Warning, Basis: Policy,
		Explain: `Without a readiness probe a pod gets requests as soon as its process has started, and until it has ended: before the server listens, and when it has stopped. With
failurePolicy Fail those requests fail, in each rolling update. Let the server that answers webhooks say when it is ready.`,
		find: behindFail(func(_ *subject, d deployment) (string, string, string) {
			if slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.ReadinessProbe != nil }) {
				return "", "", ""
			}
			return "spec.template.spec.containers", fmt.Sprintf("in each rolling update requests fail: no container of %s has a readiness probe", d.Name), "add a readinessProbe to the container that serves the webhooks"
		}),
	},
}

// behindFail is a check of the Deployments that a webhook with failurePolicy Fail calls.
func behindFail(look func(*subject, deployment) (field, what, wayOut string)) func(*subject) []mistake {
	each := eachDeployment(func(s *subject, d deployment) (string, string, string) {
		if slices.ContainsFunc(s.admission(), func(w webhook) bool { return w.DeploymentName == d.Name && !failsOpen(w) }) {
			return look(s, d)
		}
		return "", "", ""
	})
	return each
}

func budgeted(s *subject, d deployment) bool {
	return slices.ContainsFunc(bundle.OfType[*policyv1.PodDisruptionBudget](s.Bundle), func(budget *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		return err == nil && selector.Matches(labels.Set(d.Spec.Template.Labels))
	})
}
