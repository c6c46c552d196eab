// Package owners finds the objects that belong to a ClusterServiceVersion, and the definitions that keep a
// converter.
package owners

import (
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// Ownership proves whether an object with the owner labels of a CSV belongs to it. Labels alone must not make the
// manager change or delete an object (docs/adr/0032-proof-of-ownership.md).
type Ownership struct {
	// Versions are the CSV and the versions that it replaces.
	Versions []*operatorsv1alpha1.ClusterServiceVersion
	// Recorded are the uids in the status of their WebhookRollouts.
	Recorded map[types.UID]bool
	// Services are the names of the live Services that a version owns.
	Services map[string]bool
	// Planned are the objects that an InstallPlan created for one of the versions (see InstallPlanObjects).
	Planned map[string]bool
}

// NewOwnership takes the Services of the namespace and the WebhookRollouts of the versions.
func NewOwnership(versions []*operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service, rollouts ...*managerv1alpha1.WebhookRollout) Ownership {
	o := Ownership{Versions: versions, Recorded: map[types.UID]bool{}, Services: map[string]bool{}}
	for _, rollout := range rollouts {
		for _, created := range rollout.Status.Created {
			o.Recorded[created.UID] = true
		}
	}
	for _, service := range services {
		if o.Owns(service) {
			o.Services[service.Name] = true
		}
	}
	return o
}

// Proven returns those of some objects that Proves is true for.
func Proven[T metav1.Object](o Ownership, objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return !o.Proves(object) })
}

// Proves reports whether an object with the owner labels belongs to one of the versions: its uid is recorded,
// a version owns it, or it does only what the manager or OLM v0 creates such an object for. Without labels
// the record proves nothing: a client that may write the status can record any uid. Nor does an owner
// reference in another namespace: Kubernetes ignores it, and a client that can label the object can also
// write it.
func (o Ownership) Proves(object metav1.Object) bool {
	return o.Recorded[object.GetUID()] || o.Owns(object) && o.inOwnNamespace(object) || o.Registers(object) || o.delegates(object) || o.installed(object)
}

// Owns reports whether one of the versions is an owner of an object, by its uid.
func (o Ownership) Owns(object metav1.Object) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.Owns(csv, object) })
}

// Registers reports whether a registration has a derived name, or calls only Services of the versions.
func (o Ownership) Registers(object metav1.Object) bool {
	switch c := object.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
	case *apiregistrationv1.APIService:
		return c.Spec.Service != nil && o.serves(c.Spec.Service.Namespace, c.Spec.Service.Name)
	default:
		return false
	}
	if o.names(object.GetName()) {
		return true
	}
	webhooks := webhookconfig.Webhooks(object)
	callsOther := func(w admissionregistrationv1.ValidatingWebhook) bool {
		s := w.ClientConfig.Service
		return s == nil || !o.serves(s.Namespace, s.Name)
	}
	return len(webhooks) > 0 && !slices.ContainsFunc(webhooks, callsOther)
}

func (o Ownership) names(configuration string) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
			return configuration == names.WebhookConfiguration(d.GenerateName, csv.Namespace, csv.Name, string(d.Type))
		})
	})
}

func (o Ownership) serves(namespace, service string) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return namespace == csv.Namespace && slices.Contains(o.servicesOf(csv), service)
	})
}

// servicesOf includes the names that are derived from the Deployments.
func (o Ownership) servicesOf(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	services := slices.Collect(maps.Keys(o.Services))
	for _, spec := range csvspec.Deployments(csv) {
		services = append(services, names.Service(spec.Name), csvspec.AlternateServiceName(csv, spec.Name))
	}
	return services
}

// delegates requires that all ServiceAccounts are in the namespaces of the versions, and the derived name: other
// workloads of the namespace can have such bindings as well.
func (o Ownership) delegates(object metav1.Object) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return permissions.DelegatesTo(object, csv.Namespace) && slices.ContainsFunc(o.servicesOf(csv), func(service string) bool {
			usual, alternate := permissions.UsualDelegation(service), permissions.AlternateDelegation(csv.Namespace, service)
			return slices.Contains([]string{usual.Delegator, usual.Reader, alternate.Delegator, alternate.Reader}, object.GetName())
		})
	})
}

// A role has only requested rules, or a binding only ServiceAccounts of a version.
func (o Ownership) grantsOwn(object metav1.Object) bool {
	_, subjects := permissions.Bound(object)
	granted := permissions.RulesOf(object)
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		accounts, requested := csvspec.ServiceAccounts(csv), requestedRules(csv)
		isOther := func(s rbacv1.Subject) bool {
			return s.Kind != rbacv1.ServiceAccountKind || s.Namespace != csv.Namespace || !slices.Contains(accounts, s.Name)
		}
		exceeds := func(rule rbacv1.PolicyRule) bool { return !permissions.Covers(requested, rule) }
		return len(subjects) > 0 && !slices.ContainsFunc(subjects, isOther) || len(granted) > 0 && !slices.ContainsFunc(granted, exceeds)
	})
}

// requestedRules includes the rule that is added for all namespaces.
func requestedRules(csv *operatorsv1alpha1.ClusterServiceVersion) []rbacv1.PolicyRule {
	strategy, requested := csv.Spec.InstallStrategy.StrategySpec, []rbacv1.PolicyRule{permissions.ReadNamespaces}
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		requested = append(requested, p.Rules...)
	}
	return requested
}

// installed reports whether an InstallPlan created the object; or it grants only what the version requests,
// and OLM v0 lifted it, or bundle install or a catalog gave it its name. An InstallPlan is deleted with its Subscription,
// which users delete first.
func (o Ownership) installed(object metav1.Object) bool {
	var kind, lifted string
	switch object.(type) {
	case *rbacv1.ClusterRole:
		kind, lifted = "ClusterRole", "Role"
	case *rbacv1.ClusterRoleBinding:
		kind, lifted = "ClusterRoleBinding", "RoleBinding"
	case *rbacv1.Role:
		kind, lifted = "Role", "Role"
	case *rbacv1.RoleBinding:
		kind, lifted = "RoleBinding", "RoleBinding"
	default:
		return false
	}
	name := object.GetName()
	if o.planned(kind, name) && (object.GetNamespace() == metav1.NamespaceAll || o.inOwnNamespace(object)) {
		return true
	}
	return o.grantsOwn(object) && (o.planned(lifted, name) || o.recordsName(name) || object.GetNamespace() == metav1.NamespaceAll && o.isOfCatalog(name))
}

func (o Ownership) inOwnNamespace(object metav1.Object) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Namespace == object.GetNamespace() })
}

func (o Ownership) planned(kind, name string) bool { return o.Planned[kind+" "+name] }

// recordsName reports whether bundle install uses this name for the permissions of an account.
func (o Ownership) recordsName(name string) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(csvspec.ServiceAccounts(csv), func(account string) bool { return name == names.Permissions(csv.Namespace, csv.Name, account) })
	})
}

// isOfCatalog reports whether catalog-operator uses this name for the cluster permissions of an account.
func (o Ownership) isOfCatalog(name string) bool {
	return slices.ContainsFunc(o.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions, func(p operatorsv1alpha1.StrategyDeploymentPermissions) bool {
			return name == permissions.CatalogClusterRole(csv.Name, csv.Namespace, p)
		})
	})
}

// InstallPlanObjects returns created roles and bindings, as "kind name". A status Present means another owner.
func InstallPlanObjects(csv *operatorsv1alpha1.ClusterServiceVersion, plans []operatorsv1alpha1.InstallPlan) map[string]bool {
	planned := map[string]bool{}
	for _, plan := range plans {
		if plan.Namespace != csv.Namespace {
			continue
		}
		for _, step := range plan.Status.Plan {
			if step != nil && step.Resolving == csv.Name && step.Status == operatorsv1alpha1.StepStatusCreated && step.Resource.Group == rbacv1.GroupName {
				planned[step.Resource.Kind+" "+step.Resource.Name] = true
			}
		}
	}
	return planned
}
