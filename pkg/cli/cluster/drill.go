package cluster

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Drill reads the objects that decide what returns after the loss of all pods.
func (c *Cluster) Drill(ctx context.Context) (drill.Snapshot, error) {
	admission, err := c.registrations(ctx)
	s := drill.Snapshot{Admission: admission}
	if err != nil {
		return s, err
	}
	core, apps := c.Kube.CoreV1(), c.Kube.AppsV1()
	for _, read := range []func(context.Context) error{
		items(core.Nodes(), &s.Nodes, func(l *corev1.NodeList) []corev1.Node { return l.Items }),
		items(core.ServiceAccounts(""), &s.Accounts, func(l *corev1.ServiceAccountList) []corev1.ServiceAccount { return l.Items }),
		items(core.ResourceQuotas(""), &s.Quotas, func(l *corev1.ResourceQuotaList) []corev1.ResourceQuota { return l.Items }),
		items(core.Services(""), &s.Services, func(l *corev1.ServiceList) []corev1.Service { return l.Items }),
		items(core.Pods(""), &s.Pods, func(l *corev1.PodList) []corev1.Pod { return l.Items }),
		items(c.Kube.CoordinationV1().Leases(""), &s.Leases, func(l *coordinationv1.LeaseList) []coordinationv1.Lease { return l.Items }),
		items(c.Kube.DiscoveryV1().EndpointSlices(""), &s.EndpointSlices, func(l *discoveryv1.EndpointSliceList) []discoveryv1.EndpointSlice { return l.Items }),
		items(apps.Deployments(""), &s.Deployments, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }),
		items(apps.ReplicaSets(""), &s.ReplicaSets, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }),
		items(apps.StatefulSets(""), &s.StatefulSets, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }),
		items(apps.DaemonSets(""), &s.DaemonSets, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }),
		items(c.Aggregator.ApiregistrationV1().APIServices(), &s.APIServices, func(l *apiregistrationv1.APIServiceList) []apiregistrationv1.APIService { return l.Items }),
	} {
		if err := read(ctx); err != nil {
			return s, err
		}
	}
	return s, nil
}

type lister[L any] interface {
	List(context.Context, metav1.ListOptions) (L, error)
}

// items returns a function that reads all objects of a kind. There are none of a kind that the API server does not serve.
func items[L, T any](client lister[L], into *[]T, of func(L) []T) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return utilerrors.FilterOut(err, apierrors.IsNotFound)
		}
		*into = of(list)
		return nil
	}
}

// Predict asks the authorizer what the conditions ask. An answer may lead to the next question.
func (c *Cluster) Predict(ctx context.Context, s drill.Snapshot) (drill.Prediction, error) {
	s.Admission.Access = map[explain.Access]bool{}
	for {
		prediction, err := drill.Predict(s)
		if err != nil || len(prediction.Questions) == 0 {
			return prediction, err
		}
		answers, err := c.answersOf(ctx, prediction.Questions)
		if err != nil || len(answers) == 0 {
			return prediction, err
		}
		maps.Copy(s.Admission.Access, answers)
	}
}
