// Package coexistence finds other managers and OLM v0 in a cluster.
package coexistence

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/leader"
)

const labelName = "app.kubernetes.io/name"

// RefuseOtherManagers returns an error if a manager other than the Deployment own works in one of
// the namespaces: it would revert the changes. No namespaces mean all. Deployments are listed by
// the label of manifests/manager, other managers by their Leases.
func RefuseOtherManagers(ctx context.Context, kube kubernetes.Interface, own types.NamespacedName, exists bool, namespaces []string, now time.Time) error {
	deployments, err := kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: labelName + "=" + wellknown.FieldManager})
	if err != nil {
		return fmt.Errorf("cannot list the Deployments of managers: %w", err)
	}
	for _, d := range deployments.Items {
		if is := (types.NamespacedName{Namespace: d.Namespace, Name: d.Name}); is == own || d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
			continue
		}
		if both := sharedWith(d, namespaces); both != "" {
			return fmt.Errorf("deployment %s/%s is a manager of %s, too: it would undo this command. To stop it: kubectl -n %[1]s scale deployment %[2]s --replicas=0; "+
				"or name it with -n and --deployment", d.Namespace, d.Name, both)
		}
	}
	leases, err := kube.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, wellknown.FieldManager).String()})
	if err != nil {
		return fmt.Errorf("cannot list the Leases of managers: %w", err)
	}
	for _, l := range leases.Items {
		if !leader.Held(l, now) || exists && l.Namespace == own.Namespace {
			continue
		}
		d, err := holderOf(ctx, kube, l)
		if err != nil {
			return err
		}
		if both := sharedWith(d, namespaces); both != "" {
			return fmt.Errorf("lease %s/%s is held by %s, a manager of %s that would undo this command. Stop that manager; "+
				"or, if it is none: kubectl -n %[1]s delete lease %[2]s", l.Namespace, l.Name, *l.Spec.HolderIdentity, both)
		}
	}
	return nil
}

// holderOf returns the pod that holds a Lease, as a Deployment. Another holder manages all namespaces.
func holderOf(ctx context.Context, kube kubernetes.Interface, l coordinationv1.Lease) (appsv1.Deployment, error) {
	name, _, _ := strings.Cut(*l.Spec.HolderIdentity, "_")
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}}
	if name == "" {
		return d, nil
	}
	pod, err := kube.CoreV1().Pods(l.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.Spec.Template = corev1.PodTemplateSpec{Spec: pod.Spec}
	return d, nil
}

func sharedWith(d appsv1.Deployment, namespaces []string) string {
	limits, _ := LimitedTo(d) // all namespaces for a manager whose limit cannot be read
	return overlap(limits, namespaces)
}
