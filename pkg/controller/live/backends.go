package live

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// Pods are the pods that any of some selectors selects, each once.
func (r *Reader) Pods(ctx context.Context, namespace string, selectors []string) ([]*corev1.Pod, error) {
	var all []*corev1.Pod
	for _, selector := range selectors {
		pods, err := r.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		all = append(all, Pointers(pods.Items)...)
	}
	return lists.Unique(all, func(pod *corev1.Pod) types.UID { return pod.UID }), nil
}

// Services returns all Services of a namespace.
func (r *Reader) Services(ctx context.Context, namespace string) ([]*corev1.Service, error) {
	list, err := r.Kube.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return Pointers(list.Items), nil
}

// Backends are those in the namespace of a version that the manager maintains.
func (r *Reader) Backends(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (owners.Backends, error) {
	managed := metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"}
	deployments, err := r.Kube.AppsV1().Deployments(csv.Namespace).List(ctx, managed)
	if err != nil {
		return owners.Backends{}, err
	}
	services, err := r.Kube.CoreV1().Services(csv.Namespace).List(ctx, managed)
	if err != nil {
		return owners.Backends{}, err
	}
	return owners.Backends{Deployments: Pointers(deployments.Items), Services: Pointers(services.Items)}, nil
}
