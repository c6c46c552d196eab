package install

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// Backends are the Deployments and Services of a namespace.
type Backends struct {
	Deployments []*appsv1.Deployment
	Services    []*corev1.Service
}

// Installed reports whether a ClusterServiceVersion owns one of its Deployments. A version that
// failed before it was installed owns none, whatever its phase says afterwards.
func (b Backends) Installed(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return ownsNamed(csv, b.Deployments, spec.Name)
	})
}

// Serve reports whether a ClusterServiceVersion owns a Deployment of its own, and the Service of its
// webhooks: both stay when another version is deleted.
func (b Backends) Serve(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) bool {
	return ownsNamed(csv, b.Deployments, deployment) &&
		(ownsNamed(csv, b.Services, names.Service(deployment)) || ownsNamed(csv, b.Services, AlternateServiceName(csv, deployment)))
}

// ServesAny reports whether a ClusterServiceVersion has a backend for any of its webhooks.
func (b Backends) ServesAny(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return b.Serve(csv, spec.Name)
	})
}

func ownsNamed[T metav1.Object](csv *operatorsv1alpha1.ClusterServiceVersion, objects []T, name string) bool {
	return slices.ContainsFunc(objects, func(o T) bool { return o.GetName() == name && Owns(csv, o) })
}

// Owns reports whether a ClusterServiceVersion is among the owners of an object, by its uid.
func Owns(csv *operatorsv1alpha1.ClusterServiceVersion, object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == csv.UID })
}
