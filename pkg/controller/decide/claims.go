package decide

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/adoption"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// nameServices chooses the Service of each Deployment, and renders it unless it stays as it is.
func (d *decision) nameServices(csv *operatorsv1alpha1.ClusterServiceVersion, unchanged bool) {
	d.Services, d.desired = d.ServiceNames(csv), map[string]*corev1.Service{}
	for deployment, name := range d.Services {
		if !unchanged {
			d.desired[deployment] = render.CalledService(csv, deployment, name)
		}
	}
}

// ServiceNames returns the names of the Services of a version, by Deployment.
func (f Facts) ServiceNames(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	services := map[string]string{}
	for _, spec := range csvspec.Deployments(csv) {
		services[spec.Name] = f.ServiceName(spec.Name)
	}
	return services
}

// ServiceName returns the name of the Service of a Deployment: the alternate one if a Service of that
// name exists, even of a replaced version.
func (f Facts) ServiceName(deployment string) string {
	for _, csv := range f.Versions() {
		if f.Observed.Services[csvspec.AlternateServiceName(csv, deployment)] != nil {
			return csvspec.ServiceName(csv, deployment, false, true)
		}
	}
	return csvspec.ServiceName(f.CSV, deployment, f.Taken[deployment], false)
}

// Versions returns the ClusterServiceVersion and its replaced versions.
func (f Facts) Versions() []*operatorsv1alpha1.ClusterServiceVersion {
	return append([]*operatorsv1alpha1.ClusterServiceVersion{f.CSV}, f.Upgrade.From...)
}

// LearnExisting adds the object that occupies the name of an object to create.
func (f *Facts) LearnExisting(step rollout.Step, existing drift.Object) {
	if permissions.IsLifted(step.Object) {
		f.learnLifted(step.Object, existing)
		return
	}
	f.Learn(existing)
}

// Learn adds an object that the API server has although the caches do not show it.
func (f *Facts) Learn(o drift.Object) {
	switch o := o.(type) {
	case *corev1.Secret:
		f.Secrets[o.Name] = o
	case *unstructured.Unstructured:
		if o.GetKind() == owners.OperatorConditions.Name {
			f.Condition.Live = o
		} else {
			f.Uncached[keyOf(o)] = o
		}
	case *corev1.Service:
		f.learnService(o)
	case *rbacv1.ClusterRoleBinding:
		f.learnBinding(o)
	case *rbacv1.RoleBinding:
		if permissions.Delegates(o) {
			f.learnBinding(o)
		} else {
			f.Observed.Adopt(o, f.Refusal(o))
		}
	default:
		f.Observed.Adopt(o, f.Refusal(o))
	}
}

// learnService does not adopt a Service of another client. The Deployment gets a Service of another
// name, unless that one belongs to another client, too.
func (f *Facts) learnService(o *corev1.Service) {
	refusal := f.Refusal(o)
	for deployment, name := range f.Services {
		if refusal != "" && name == o.Name && !f.Taken[deployment] {
			f.Taken[deployment] = true
			return
		}
	}
	f.Observed.Adopt(o, refusal)
}

// learnBinding does not adopt a binding of another client. The Deployment gets one of another name,
// unless that one belongs to another client, too.
func (f *Facts) learnBinding(o drift.Object) {
	if f.adopter().OwnsDelegation(o) {
		f.Observed.Adopt(o, "")
		return
	}
	if f.Foreign[o.GetName()] {
		f.Observed.Adopt(o, drift.KeyOf(o)+" is not the manager's: delete it, or give the Deployment another name")
	}
	f.Foreign[o.GetName()] = true
}

// Refusal returns why an object with a name that the ClusterServiceVersion needs cannot belong to it;
// empty when it can.
func (f Facts) Refusal(o drift.Object) string { return f.adopter().Refusal(o) }

func (f Facts) adopter() adoption.Adopter {
	return adoption.Adopter{
		Versions: f.Versions(),
		Exists:   f.Exists,
		Calls:    func(service string) bool { return f.Observed.Services[service] != nil },
		Proves:   func(o drift.Object) bool { return f.Ownership.Proves(o) },
	}
}

// nameDelegations chooses the names of the bindings for the Service of each Deployment.
func (d *decision) nameDelegations() map[string]permissions.Delegation {
	named := map[string]permissions.Delegation{}
	for deployment, service := range d.Services {
		is, alternate := permissions.UsualDelegation(service), permissions.AlternateDelegation(d.CSV.Namespace, service)
		if d.Foreign[is.Delegator] || d.Observed.AuthDelegators[alternate.Delegator] != nil {
			is.Delegator = alternate.Delegator
		}
		if d.Foreign[is.Reader] || d.Observed.AuthReaders[alternate.Reader] != nil {
			is.Reader = alternate.Reader
		}
		named[deployment] = is
	}
	return named
}
