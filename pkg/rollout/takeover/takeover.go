// Package takeover decides in which form the objects of a ClusterServiceVersion are that olm-operator installed: as
// olm-operator made them, as the manager makes them, or so that olm-operator accepts them without a rollout.
package takeover

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// Input is what the form of the objects depends on.
type Input struct {
	render.Input
	// Certificates are the states of the serving certificates, by Deployment.
	Certificates map[string]managerv1alpha1.CertificateStatus

	// The live objects, by name.
	Deployments  map[string]*appsv1.Deployment
	Services     map[string]*corev1.Service
	Roles        map[string]*rbacv1.Role
	RoleBindings map[string]*rbacv1.RoleBinding
	// These are set only for RevertedBeside. AuthReaders are in namespace permissions.AuthReaderNamespace.
	Definitions         map[string]*apiextensionsv1.CustomResourceDefinition
	ClusterRoleBindings map[string]*rbacv1.ClusterRoleBinding
	AuthReaders         map[string]*rbacv1.RoleBinding
}

// Keeps reports whether an order lets objects stay as olm-operator made them.
func Keeps(order string) bool {
	return order == wellknown.TakeoverHeld || order == wellknown.TakeoverGiveBack
}

// Apply returns the desired objects in the form that the order requires. Without an order, it is the manager's.
func Apply(in Input, desired render.Desired) render.Desired {
	order := csvspec.TakeoverOrder(in.CSV)
	if !Keeps(order) {
		return desired
	}
	specs := map[string]operatorsv1alpha1.StrategyDeploymentSpec{}
	for _, spec := range csvspec.Deployments(in.CSV) {
		specs[spec.Name] = spec
	}
	formed := desired
	formed.Deployments = nil
	for _, d := range desired.Deployments {
		spec := specs[d.Object.Name]
		if live := in.Deployments[spec.Name]; live != nil {
			d.Object, d.Adopted = in.form(spec, live, d.Object)
			if order == wellknown.TakeoverGiveBack && in.Settled(spec.Name) {
				d.Object, d.Adopted = in.givenBack(spec, live, d)
			}
			if d.Adopted || order == wellknown.TakeoverGiveBack {
				d = in.withLiveMetadata(d)
			}
		}
		formed.Deployments = append(formed.Deployments, d)
	}
	if c := desired.Condition; c != nil {
		formed.Condition = in.conditionWithLiveMetadata(c)
	}
	return formed
}

// form returns a Deployment that needs no rollout as it is, and otherwise the manager's form. adopted is set for the form of
// olm-operator.
func (in Input) form(spec operatorsv1alpha1.StrategyDeploymentSpec, live, managers *appsv1.Deployment) (object *appsv1.Deployment, adopted bool) {
	switch {
	case MadeByOLM(in.Input, spec, live):
		return in.adopted(spec, live), true
	case in.recorded(spec, live):
		return in.kept(live, managers), false
	default:
		return managers, false
	}
}

// Settled reports whether all pods and registrations of a Deployment have one certificate.
func (in Input) Settled(deployment string) bool {
	c, served := in.Certificates[deployment]
	return !served || c.Phase == managerv1alpha1.CertificateStable && c.TrustedCAs == 1
}
