package deploy

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// PendingDeployment is a Deployment whose rollout is not complete.
type PendingDeployment struct {
	Name string
	// Unobserved is set until a manager has written the Deployment so.
	Unobserved bool
	Message    string
}

// FirstPendingDeployment returns the first incomplete rollout of an operator without a WebhookRollout; nil if all are
// complete. The phase of its ClusterServiceVersion is from the previous version until a manager has reconciled it.
func FirstPendingDeployment(csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription, live map[string]*appsv1.Deployment) *PendingDeployment {
	config := subscriptions.ConfigOf(subscription).WithProxy(proxyOf(csv, live)) // the proxy is the manager's choice
	wanted := render.Objects(render.Input{CSV: csv, Scope: scopeOf(csv), Config: config})
	for _, w := range wanted.Deployments {
		d := live[w.Object.Name]
		if d == nil || d.Labels[wellknown.LabelDeploymentHash] != w.Object.Labels[wellknown.LabelDeploymentHash] {
			return &PendingDeployment{w.Object.Name, true, "no manager has written its present version yet, or the manager has another version than this command"}
		}
		if message := rolloutMessage(d); message != "" {
			return &PendingDeployment{w.Object.Name, false, message}
		}
	}
	return nil
}

// proxyOf returns the proxy in the environment of the first Deployment that has one.
func proxyOf(csv *operatorsv1alpha1.ClusterServiceVersion, live map[string]*appsv1.Deployment) (proxy subscriptions.Proxy) {
	for _, name := range csvspec.DeploymentNames(csv) {
		if d := live[name]; d != nil && proxy == (subscriptions.Proxy{}) {
			proxy = subscriptions.ProxyIn(d.Spec.Template.Spec)
		}
	}
	return proxy
}

func rolloutMessage(d *appsv1.Deployment) string {
	s, replicas := d.Status, ptr.Deref(d.Spec.Replicas, 1)
	switch {
	case s.ObservedGeneration < d.Generation:
		return "the Deployment controller has not observed it yet"
	case s.UpdatedReplicas < replicas:
		return fmt.Sprintf("%d of %d pods are new", s.UpdatedReplicas, replicas)
	case s.Replicas > s.UpdatedReplicas:
		return fmt.Sprintf("%d old pods are pending termination", s.Replicas-s.UpdatedReplicas)
	case s.AvailableReplicas < s.UpdatedReplicas:
		return fmt.Sprintf("%d of %d pods are available", s.AvailableReplicas, s.UpdatedReplicas)
	default:
		return ""
	}
}

func scopeOf(csv *operatorsv1alpha1.ClusterServiceVersion) scope.Scope {
	return scope.Scope{
		Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{
			Name: csv.Annotations[wellknown.AnnotationOperatorGroup], Namespace: csv.Annotations[wellknown.AnnotationOperatorNamespace],
		}},
		Namespaces: strings.Split(csv.Annotations[wellknown.AnnotationTargetNamespaces], ","),
	}
}
