package decide

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/adoption"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// nameServices chooses the Service of each Deployment, and renders it unless it stays as it is.
func (d *decision) nameServices(csv *operatorsv1alpha1.ClusterServiceVersion, unchanged bool) {
	d.services, d.desired = d.serviceNames(csv), map[string]*corev1.Service{}
	for deployment, name := range d.services {
		if !unchanged {
			d.desired[deployment] = render.CalledService(csv, deployment, name)
		}
	}
}

func (d *decision) serviceNames(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	services := map[string]string{}
	for _, spec := range csvspec.Deployments(csv) {
		services[spec.Name] = d.serviceName(spec.Name)
	}
	return services
}

// serviceName returns the alternate name if a Service of that name exists, even of a replaced version that exists no more.
func (d *decision) serviceName(deployment string) string {
	for _, csv := range d.Versions() {
		if d.Observed.Services[csvspec.AlternateServiceName(csv, deployment)] != nil {
			return csvspec.ServiceName(csv, deployment, false, true)
		}
	}
	if live := d.Observed.Deployments[deployment]; live != nil {
		if name := mountedService(live, d.Observed.Services, csvspec.DeploymentNames(d.CSV)); name != "" {
			return name
		}
	}
	return csvspec.ServiceName(d.CSV, deployment, d.occupiedServices[deployment], false)
}

// mountedService returns the Service that is no usual one of the Deployments and whose certificate the pods of one mount, or "".
func mountedService(live *appsv1.Deployment, services map[string]*corev1.Service, deployments []string) string {
	usual := lists.Map(deployments, names.Service)
	return lists.First(slices.Sorted(maps.Keys(services)), func(service string) bool {
		return !slices.Contains(usual, service) && slices.ContainsFunc(live.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Secret != nil && v.Secret.SecretName == names.Secret(service)
		})
	})
}

// learn adds an object that the caches do not show. services are the names of that time, by Deployment.
func (d *decision) learn(o drift.Object, services map[string]string) {
	switch o := o.(type) {
	case *corev1.Secret:
		d.secrets[o.Name] = o
		return
	case *unstructured.Unstructured:
		if groupkind.Is(o, owners.OperatorConditions.GroupKind()) {
			d.Condition.Live = o
		} else {
			d.uncached[keyOf(o)] = o
		}
		return
	case *corev1.Service:
		if d.learnOccupied(o, services) {
			return
		}
	case *rbacv1.ClusterRoleBinding:
		d.learnDelegation(o)
		return
	case *rbacv1.RoleBinding:
		if permissions.Delegates(o) {
			d.learnDelegation(o)
			return
		}
	}
	d.Observed.Adopt(o, d.refusal(o))
}

// learnOccupied gives the Deployment a Service of another name, unless that one belongs to another client, too.
func (d *decision) learnOccupied(o *corev1.Service, services map[string]string) bool {
	if d.refusal(o) == "" {
		return false
	}
	for deployment, name := range services {
		if name == o.Name && !d.occupiedServices[deployment] {
			d.occupiedServices[deployment] = true
			return true
		}
	}
	return false
}

// learnDelegation gives the Deployment a binding of another name, unless that one belongs to another client, too.
func (d *decision) learnDelegation(o drift.Object) {
	if d.adopter().OwnsDelegation(o) {
		d.Observed.Adopt(o, "")
		return
	}
	if d.occupiedBindings[o.GetName()] {
		d.Observed.Adopt(o, drift.KeyOf(o)+" is not the manager's: delete it, or give the Deployment another name")
	}
	d.occupiedBindings[o.GetName()] = true
}

// refusal returns why an existing object cannot belong to the ClusterServiceVersion; empty when it can.
func (d *decision) refusal(o drift.Object) string { return d.adopter().Refusal(o) }

func (d *decision) adopter() adoption.Adopter { return d.Adopter(d.exists) }

// exists asks if it is unknown whether the owner exists. The decision is then void.
func (d *decision) exists(owner string) bool {
	if slices.ContainsFunc(d.Versions(), func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return owner == csv.Namespace+"/"+names.LabelValue(csv.Name)
	}) {
		return true
	}
	found, known := d.answers.Owners[owner]
	if !known {
		d.questions = append(d.questions, FindOwner{owner})
	}
	return found
}

func (d *decision) nameDelegations() map[string]permissions.Delegation {
	named := map[string]permissions.Delegation{}
	for deployment, service := range d.services {
		is, alternate := permissions.UsualDelegation(service), permissions.AlternateDelegation(d.CSV.Namespace, service)
		if d.occupiedBindings[is.Delegator] || d.Observed.AuthDelegators[alternate.Delegator] != nil {
			is.Delegator = alternate.Delegator
		}
		if d.occupiedBindings[is.Reader] || d.Observed.AuthReaders[alternate.Reader] != nil {
			is.Reader = alternate.Reader
		}
		named[deployment] = is
	}
	return named
}
