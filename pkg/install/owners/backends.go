package owners

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Backends are the Deployments and Services of a namespace.
type Backends struct {
	Deployments []*appsv1.Deployment
	Services    []*corev1.Service
}

// Installed reports whether a CSV owns one of its Deployments. One that failed before owns none.
func (b Backends) Installed(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return csvspec.OwnsNamed(csv, b.Deployments, spec.Name)
	})
}

// Serve reports whether a CSV owns a Deployment and its Service, which outlive another version.
func (b Backends) Serve(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) bool {
	return csvspec.OwnsNamed(csv, b.Deployments, deployment) &&
		(csvspec.OwnsNamed(csv, b.Services, names.Service(deployment)) || csvspec.OwnsNamed(csv, b.Services, csvspec.AlternateServiceName(csv, deployment)))
}

// ServesAny reports whether a ClusterServiceVersion has a backend for any of its webhooks.
func (b Backends) ServesAny(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return b.Serve(csv, spec.Name)
	})
}
