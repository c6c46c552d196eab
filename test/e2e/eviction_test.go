package e2e

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// With the manager's PodDisruptionBudget, pods are evicted one at a time, also after an upgrade has changed its selector. The pod of
// a Job with the labels of the operator's pods does not prevent it.
func TestEvictions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	jobEnds(e, "hook")
	e.create(withBudget("hook.v1", ""))
	e.succeeds("hook.v1")
	evictsOneAtATime(e, "hook.v1")

	e.create(withBudget("hook.v2", "hook.v1"))
	e.succeeds("hook.v2")
	isGone(e, "hook.v1")
	evictsOneAtATime(e, "hook.v2")
	failsWithTheJob(e)
}

func withBudget(name, replaces string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := hookCSV(name, server("hook"))
	csv.Spec.Replaces = replaces
	csv.Annotations = map[string]string{wellknown.AnnotationAvailabilityBudget: "minAvailable=1"}
	return csv
}

// jobEnds creates a Job whose pod has the label app, and waits until it has ended. Budgets count such pods, too.
func jobEnds(e *env, app string) {
	e.Helper()
	jobs := kubeClient.BatchV1().Jobs(e.namespace)
	pod := hook(app, 1, "nothing").Spec.Template
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := kube.Create(e, jobs, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: pod}})
	becomes(e, "the pod of the Job has ended", func() int32 { return kube.Get(e, jobs, job.Name).Status.Failed }, 1)
}

// evictsOneAtATime evicts both pods of the operator.
func evictsOneAtATime(e *env, csv string) {
	e.Helper()
	e.eventually("the budget selects the pods of "+csv, func() (bool, any) {
		budget, err := kubeClient.PolicyV1().PodDisruptionBudgets(e.namespace).Get(e.ctx, "hook-webhooks", metav1.GetOptions{})
		return err == nil && slices.Equal(budget.Spec.Selector.MatchExpressions[0].Values, []string{csv}), []any{budget.Spec.Selector, err}
	})
	becomes(e, "both pods are ready", func() int { return len(readyPods(e, csv)) }, 2)
	pods := readyPods(e, csv)
	isEvicted(e, "the first pod", pods[0])
	err := evict(e, pods[1])
	if !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) || !strings.Contains(err.Error(), "would violate") {
		e.Fatalf("the eviction of the second pod while the first is not replaced: %v", err)
	}
	isEvicted(e, "the second pod, after the first is replaced", pods[1])
}

func readyPods(e *env, csv string) (ready []corev1.Pod) {
	e.Helper()
	for _, pod := range kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{LabelSelector: wellknown.LabelCSV + "=" + csv}).Items {
		if isReady(pod) && pod.DeletionTimestamp == nil {
			ready = append(ready, pod)
		}
	}
	return ready
}

func isEvicted(e *env, which string, pod corev1.Pod) {
	e.Helper()
	e.eventually(which+" is evicted", func() (bool, any) {
		err := evict(e, pod)
		return err == nil, err
	})
}

func evict(e *env, pod corev1.Pod) error {
	return kubeClient.PolicyV1().Evictions(e.namespace).Evict(e.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// failsWithTheJob is the control: for a budget with the selector of the Deployment, the disruption controller allows no eviction.
func failsWithTheJob(e *env) {
	e.Helper()
	budgets := kubeClient.PolicyV1().PodDisruptionBudgets(e.namespace)
	kube.Create(e, budgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "control"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "hook"}}, MaxUnavailable: new(intstr.FromInt32(1)),
	}})
	becomes(e, "the condition of the control", func() string {
		if allowed := meta.FindStatusCondition(kube.Get(e, budgets, "control").Status.Conditions, policyv1.DisruptionAllowedCondition); allowed != nil {
			return allowed.Reason
		}
		return ""
	}, policyv1.SyncFailedReason)
	e.eventually("the manager has deleted its own budget", func() (bool, any) {
		_, err := budgets.Get(e.ctx, "hook-webhooks", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}
