package installer

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// warnings returns the last warnings of pods by Deployment, such as failed mounts; nil if they may not be read.
func (v *watch) warnings(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (map[string]string, error) {
	pods, err := v.Kube.CoreV1().Pods(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsForbidden)
	}
	last, err := v.lastWarnings(ctx, csv.Namespace)
	if last == nil {
		return nil, err
	}
	warnings := map[string]string{}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		selector, err := metav1.LabelSelectorAsSelector(spec.Spec.Selector)
		if err != nil {
			continue // the API server refuses such a Deployment and reports why
		}
		var newest time.Time
		for _, pod := range pods.Items {
			e, warned := last[pod.UID]
			if warned && pod.DeletionTimestamp == nil && selector.Matches(labels.Set(pod.Labels)) && timeOf(e).After(newest) {
				newest, warnings[spec.Name] = timeOf(e), fmt.Sprintf("pod %s: %s: %s", pod.Name, e.Reason, e.Message)
			}
		}
	}
	return warnings, nil
}

// warningAge limits the age of reported warnings. Kubelets repeat a warning after two minutes at most.
const warningAge = 3 * time.Minute

func (v *watch) lastWarnings(ctx context.Context, namespace string) (map[types.UID]corev1.Event, error) {
	list, err := v.Kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning + ",involvedObject.kind=Pod"})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsForbidden)
	}
	last := map[types.UID]corev1.Event{}
	for _, e := range list.Items {
		if of := e.InvolvedObject.UID; time.Since(timeOf(e)) < warningAge && timeOf(e).After(timeOf(last[of])) {
			last[of] = e
		}
	}
	return last, nil
}

func timeOf(e corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}
