// Package drill predicts what returns after all pods of a cluster are lost, and which webhooks keep others from returning.
package drill

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Snapshot is what a cluster has before the loss.
type Snapshot struct {
	// Admission has the webhooks, the Namespaces, the definitions and what the API server serves. Policies are not used.
	Admission explain.Snapshot

	Nodes          []corev1.Node
	Leases         []coordinationv1.Lease
	Accounts       []corev1.ServiceAccount
	Quotas         []corev1.ResourceQuota
	Services       []corev1.Service
	EndpointSlices []discoveryv1.EndpointSlice
	Deployments    []appsv1.Deployment
	ReplicaSets    []appsv1.ReplicaSet
	StatefulSets   []appsv1.StatefulSet
	DaemonSets     []appsv1.DaemonSet
	Pods           []corev1.Pod
	APIServices    []apiregistrationv1.APIService
}

// Add adds an object. Other kinds do no harm.
func (s *Snapshot) Add(o unstructured.Unstructured) error {
	var err error
	kind := o.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Kind: "Node"}:
		s.Nodes, err = with(s.Nodes, o)
	case schema.GroupKind{Kind: "ServiceAccount"}:
		s.Accounts, err = with(s.Accounts, o)
	case schema.GroupKind{Kind: "ResourceQuota"}:
		s.Quotas, err = with(s.Quotas, o)
	case schema.GroupKind{Kind: "Service"}:
		s.Services, err = with(s.Services, o)
	case schema.GroupKind{Kind: "Pod"}:
		s.Pods, err = with(s.Pods, o)
	case coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind():
		s.Leases, err = with(s.Leases, o)
	case discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice").GroupKind():
		s.EndpointSlices, err = with(s.EndpointSlices, o)
	case appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind():
		s.Deployments, err = with(s.Deployments, o)
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind():
		s.ReplicaSets, err = with(s.ReplicaSets, o)
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind():
		s.StatefulSets, err = with(s.StatefulSets, o)
	case appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind():
		s.DaemonSets, err = with(s.DaemonSets, o)
	case apiregistrationv1.SchemeGroupVersion.WithKind("APIService").GroupKind():
		s.APIServices, err = with(s.APIServices, o)
	default:
		return s.Admission.Add(o)
	}
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind.Kind, o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

func with[T any](all []T, o unstructured.Unstructured) ([]T, error) {
	var typed T
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed)
	return append(all, typed), err
}

// controllerAccounts reports whether each controller of the controller manager has a ServiceAccount of its own, as with
// --use-service-account-credentials. It is assumed if the snapshot has no ServiceAccounts.
func (s Snapshot) controllerAccounts() bool {
	for _, a := range s.Accounts {
		if a.Namespace == metav1.NamespaceSystem && a.Name == "replicaset-controller" {
			return true
		}
	}
	return len(s.Accounts) == 0
}
