package manager

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
)

// stopTimeout is how long the pods of the manager may take to end.
const stopTimeout = 2 * time.Minute

// stopping scales the Deployment of a manager to zero, and waits for its pods.
type stopping struct {
	kube       kubernetes.Interface
	deployment *appsv1.Deployment
	out        output.Writer
}

// check returns the refusal of a request of stop. It writes nothing.
func (s stopping) check(ctx context.Context) (uninstall.RefusedError, error) {
	if _, err := s.pods(ctx); err != nil {
		return uninstall.Refusals(err)
	}
	return uninstall.Refusals(s.scale(ctx, metav1.DryRunAll))
}

func (s stopping) stop(ctx context.Context) error {
	if err := s.scale(ctx); err != nil {
		return err
	}
	name := s.deployment.Namespace + "/" + s.deployment.Name
	var left []string
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, stopTimeout, true, func(ctx context.Context) (bool, error) {
		pods, err := s.pods(ctx)
		if err != nil {
			return false, err
		}
		announced := len(left) > 0
		if left = running(pods); len(left) > 0 && !announced {
			s.out.Printf("waiting up to %s until the pods of deployment %s end: %s\n", stopTimeout, name, strings.Join(left, ", "))
		}
		return len(left) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("deployment %s is scaled to zero, and after %s its pods have not ended: %s. They would undo what this command does: delete these pods, then run the command again", name, stopTimeout, strings.Join(left, ", "))
	}
	return err
}

func (s stopping) scale(ctx context.Context, dryRun ...string) error {
	none := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: s.deployment.Namespace, Name: s.deployment.Name}}
	_, err := s.kube.AppsV1().Deployments(none.Namespace).UpdateScale(ctx, none.Name, none, metav1.UpdateOptions{DryRun: dryRun})
	return err
}

func (s stopping) pods(ctx context.Context) ([]corev1.Pod, error) {
	behind := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(s.deployment.Spec.Selector)}
	pods, err := s.kube.CoreV1().Pods(s.deployment.Namespace).List(ctx, behind)
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

// running returns the pods whose containers may run. A ReplicaSet that is scaled to zero does not delete the pods
// that have ended, such as evicted ones.
func running(pods []corev1.Pod) []string {
	return lists.FilterMap(pods, func(p corev1.Pod) (string, bool) {
		return p.Name, p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
	})
}
