package lint

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// availabilityChecks ignore Deployments whose webhooks all fail open.
var availabilityChecks = []Check{
	{
		Code: "one-replica", Level: Warning, Basis: Policy,
		Explain: `With one replica, the webhook is unavailable while its pod restarts, is
evicted, or its node is drained. Meanwhile, with failurePolicy Fail, the requests that it intercepts
fail. With a conversion webhook, all reads and writes in other versions than the stored one fail,
independent of failurePolicy. Write replicas: 2 or more, and spread the pods over nodes.`,
		find: eachFailClosedDeployment(func(s *subject, d deployment, report reporter) {
			if d.Spec.Replicas == nil || *d.Spec.Replicas == 1 {
				report("spec.replicas", fmt.Sprintf("whenever the one pod of %s is away, what its webhooks %s fails", d.Name, s.failingWork(d)), "write replicas: 2")
			}
		}),
	},
	{
		Code: "no-disruption-budget", Level: Warning, Basis: Policy,
		Explain: `Without a PodDisruptionBudget, draining nodes may evict all replicas at
the same time. Until one is available again, the requests fail that the webhook intercepts with
failurePolicy Fail, or whose objects it converts. Add a PodDisruptionBudget to the bundle:
maxUnavailable: 1, with the labels of the pods.`,
		find: eachFailClosedDeployment(func(s *subject, d deployment, report reporter) {
			if d.Spec.Replicas != nil && *d.Spec.Replicas >= 2 && !budgeted(s, d) {
				report("spec.replicas", fmt.Sprintf("draining nodes may take all pods of %s away at once: no PodDisruptionBudget of the bundle selects them", d.Name), "add one to the bundle, with maxUnavailable: 1")
			}
		}),
	},
	{
		Code: "no-readiness-probe", Level: Warning, Basis: Policy,
		Explain: `Without a readiness probe, a pod receives requests from the start of its
process until its end: also before the server listens, and after it stops. In each rolling update,
these requests fail with failurePolicy Fail, and in conversions. Add a readiness probe to the
container that serves the webhook: a probe of another container does not show that it is ready. If
no container declares the port of the webhook, a probe of any container is accepted.`,
		find: unprobed,
	},
}

func eachFailClosedDeployment(check func(*subject, deployment, reporter)) func(*subject) {
	return eachDeployment(func(s *subject, d deployment, report reporter) {
		if s.failingWork(d) != "" {
			check(s, d, report)
		}
	})
}

func (s *subject) failingWork(d deployment) string {
	var failingWork []string
	for _, w := range s.webhooks() {
		what := "intercept"
		if w.Type == operatorsv1alpha1.ConversionWebhook {
			what = "convert"
		}
		if w.DeploymentName == d.Name && s.failsClosed(w) && !slices.Contains(failingWork, what) {
			failingWork = append(failingWork, what)
		}
	}
	slices.Sort(failingWork)
	return strings.Join(failingWork, " and ")
}

// failsClosed is true for conversions, too, but a definition with one version is never converted.
func (s *subject) failsClosed(w webhook) bool {
	if w.Type != operatorsv1alpha1.ConversionWebhook {
		return !failsOpen(w)
	}
	return slices.ContainsFunc(w.ConversionCRDs, func(name string) bool {
		crd := s.definitions[name]
		return crd == nil || len(crd.Spec.Versions) > 1
	})
}

func budgeted(s *subject, d deployment) bool {
	for _, budget := range bundle.Each[*policyv1.PodDisruptionBudget](s.Bundle) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(d.Spec.Template.Labels)) && allowsNone(budget.Spec, int(*d.Spec.Replicas)) {
			return true
		}
	}
	return false
}

// allowsNone reports whether a budget keeps at least one pod available.
func allowsNone(budget policyv1.PodDisruptionBudgetSpec, replicas int) bool {
	if budget.MaxUnavailable != nil {
		away, err := intstr.GetScaledValueFromIntOrPercent(budget.MaxUnavailable, replicas, true)
		return err == nil && away < replicas
	}
	kept, err := intstr.GetScaledValueFromIntOrPercent(budget.MinAvailable, replicas, true) // an error for nil
	return err == nil && kept > 0
}

func unprobed(s *subject) {
	for _, w := range s.webhooks() {
		d := w.backend
		if d == nil || !s.failsClosed(w) {
			continue
		}
		containers := running(d.Spec.Template.Spec)
		i := slices.IndexFunc(containers, func(c container) bool { return declares(c, render.TargetPort(w.WebhookDescription)) })
		const remedy = "let it have a readinessProbe that asks the server of the webhooks"
		switch {
		case i >= 0 && containers[i].ReadinessProbe == nil:
			s.reportCSV(d.path+".spec.template.spec."+containers[i].field,
				fmt.Sprintf("in each rolling update requests fail: the container %s of %s, which answers webhooks, has no readiness probe", containers[i].Name, d.Name), remedy)
		case i < 0 && !slices.ContainsFunc(containers, func(c container) bool { return c.ReadinessProbe != nil }):
			s.reportCSV(d.path+".spec.template.spec.containers",
				fmt.Sprintf("in each rolling update requests fail: no container of %s has a readiness probe", d.Name), remedy)
		}
	}
}
