package owners

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// DefinitionOwners are CRDs that must own the objects of a converter: the foreground deletion of a CSV
// deletes all objects without another owner, but a converter must serve until its CRD is deleted.
type DefinitionOwners struct {
	csv     *operatorsv1alpha1.ClusterServiceVersion
	derived map[string][]metav1.OwnerReference // by kind and name
	account map[string][]metav1.OwnerReference // by name of the ServiceAccount
}

// DefinitionOwnersOf is for live Deployments that convert or are going to. services are by Deployment.
func DefinitionOwnersOf(csv *operatorsv1alpha1.ClusterServiceVersion, deployments map[string]*appsv1.Deployment, services map[string]string, crds map[string]*apiextensionsv1.CustomResourceDefinition) DefinitionOwners {
	kept := DefinitionOwners{csv: csv, derived: map[string][]metav1.OwnerReference{}, account: map[string][]metav1.OwnerReference{}}
	for name, live := range deployments {
		called := []string{names.Service(name), csvspec.AlternateServiceName(csv, name), cmp.Or(services[name], names.Service(name))}
		definitions := convertedDefinitions(csv, name, called, crds)
		if len(definitions) == 0 {
			continue
		}
		kept.derived["Deployment "+name] = definitions
		for _, service := range called {
			secret := names.Secret(service)
			for _, object := range []string{"Service " + service, "Secret " + secret, "Role " + secret, "RoleBinding " + secret} {
				kept.derived[object] = definitions
			}
		}
		account := csvspec.ServiceAccountOf(live.Spec.Template.Spec)
		kept.account[account] = eachOnce(append(kept.account[account], definitions...))
		kept.derived["OperatorCondition "+csv.Name] = eachOnce(append(kept.derived["OperatorCondition "+csv.Name], definitions...))
	}
	return kept
}

func convertedDefinitions(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, services []string, crds map[string]*apiextensionsv1.CustomResourceDefinition) []metav1.OwnerReference {
	return lists.FilterMap(lists.ByKey(crds), func(crd *apiextensionsv1.CustomResourceDefinition) (metav1.OwnerReference, bool) {
		i := csvspec.Converts(csv, crd.Name)
		declared := i >= 0 && csv.Spec.WebhookDefinitions[i].DeploymentName == deployment
		namespace, service := ConvertedBy(crd)
		return definitionOwner(crd), crd.DeletionTimestamp == nil && (declared || namespace == csv.Namespace && slices.Contains(services, service))
	})
}

func eachOnce(owners []metav1.OwnerReference) []metav1.OwnerReference {
	slices.SortFunc(owners, func(a, b metav1.OwnerReference) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(owners, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID })
}

func definitionOwner(crd *apiextensionsv1.CustomResourceDefinition) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: groupkind.CustomResourceDefinition.Kind,
		Name: crd.Name, UID: crd.UID, Controller: new(false), BlockOwnerDeletion: new(false),
	}
}

// Other clients do not set both controller and blockOwnerDeletion.
func isDefinitionOwner(owner metav1.OwnerReference) bool {
	return groupkind.IsOwner(owner, groupkind.CustomResourceDefinition) && owner.Controller != nil && owner.BlockOwnerDeletion != nil
}

// Owners returns the desired owner references, and whether they differ. It covers objects with the labels of
// the CSV, and objects of other clients that the pods need and that are deleted with the CSV.
func (k DefinitionOwners) Owners(kind string, o metav1.Object, bindings []*rbacv1.RoleBinding) (owners []metav1.OwnerReference, differ bool) {
	var definitions []metav1.OwnerReference
	switch {
	case csvspec.HasOwnerLabels(o, k.csv), csvspec.Owns(k.csv, o) && csvspec.IsManaged(o): // olm-operator writes no owner labels
		definitions = k.derived[kind+" "+o.GetName()]
	case !csvspec.Owns(k.csv, o):
		return nil, false
	}
	if len(definitions) == 0 {
		definitions = k.needed(kind, o, bindings)
	}
	has := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(owner metav1.OwnerReference) bool { return !isDefinitionOwner(owner) })
	return append(WithoutDefinitionOwners(o), definitions...), !equality.Semantic.DeepEqual(has, definitions)
}

// The ServiceAccount of converters, and its roles and bindings.
func (k DefinitionOwners) needed(kind string, o metav1.Object, bindings []*rbacv1.RoleBinding) []metav1.OwnerReference {
	if kind == rbacv1.ServiceAccountKind {
		return k.account[o.GetName()]
	}
	for _, b := range bindings {
		gives := kind == "RoleBinding" && b.Name == o.GetName() || kind == "Role" && b.RoleRef.Kind == kind && b.RoleRef.Name == o.GetName()
		for _, subject := range b.Subjects {
			if gives && subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == o.GetNamespace() && len(k.account[subject.Name]) > 0 {
				return k.account[subject.Name]
			}
		}
	}
	return nil
}

// WithoutDefinitionOwners returns the owner references of an object except its definition owners.
func WithoutDefinitionOwners(o metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), isDefinitionOwner)
}

// HasDefinitionOwner reports whether an object has a definition owner.
func HasDefinitionOwner(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), isDefinitionOwner)
}

// ConvertsLike reports whether a CSV converts a CRD that another CSV also converts.
func ConvertsLike(csv, other *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csvspec.ConversionCRDs(other), func(crd string) bool { return csvspec.Converts(csv, crd) >= 0 })
}

// Cleanup is what to do with an object of a converter when its conversion ends.
type Cleanup string

const (
	// Ignore means that the object has no definition owner for this CSV.
	Ignore Cleanup = ""
	// Release means to remove the definition owners: the object is orphaned or has another owner.
	Release Cleanup = "Release"
	// Delete means to delete the object.
	Delete Cleanup = "Delete"
)

// CleanupOf is for a CSV that is deleted. orphaned is set if that happens without its dependents. converted are the
// definitions that a Service of the namespace converts: their converter may be what another version left.
func CleanupOf(o metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion, orphaned bool, converted map[string]bool) Cleanup {
	isConverter := slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		declared := csvspec.Converts(csv, owner.Name) >= 0 && (orphaned || !converted[owner.Name])
		return isDefinitionOwner(owner) && (csvspec.HasOwnerLabels(o, csv) || csvspec.Owns(csv, o) || declared)
	})
	if !isConverter {
		return Ignore
	}
	cleanup := Delete
	for _, owner := range o.GetOwnerReferences() {
		switch {
		case isDefinitionOwner(owner), owner.UID == csv.UID:
		case groupkind.IsOwner(owner, groupkind.ClusterServiceVersion):
			return Ignore
		default:
			cleanup = Release
		}
	}
	if orphaned {
		return Release
	}
	return cleanup
}

// OrphansDependents reports whether a CSV is deleted without its dependents. After the garbage collector
// removes the orphan finalizer, the only evidence is a WebhookRollout without the CSV as owner, which a
// foreground deletion would have deleted.
func OrphansDependents(csv *operatorsv1alpha1.ClusterServiceVersion, record *managerv1alpha1.WebhookRollout) bool {
	switch {
	case slices.Contains(csv.Finalizers, metav1.FinalizerOrphanDependents):
		return true
	case slices.Contains(csv.Finalizers, metav1.FinalizerDeleteDependents), record == nil:
		return false
	default:
		return !csvspec.Owns(csv, record)
	}
}

// Kind is a kind of objects that CRDs may own (see DefinitionOwners).
type Kind struct {
	Name     string
	Resource schema.GroupVersionResource
}

// GroupKind returns the kind with its API group.
func (k Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Name}
}

// The kinds of what converts, and of what its pods need.
var (
	Deployments        = Kind{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments")}
	Services           = Kind{"Service", corev1.SchemeGroupVersion.WithResource("services")}
	Secrets            = Kind{"Secret", corev1.SchemeGroupVersion.WithResource("secrets")}
	RoleBindings       = Kind{"RoleBinding", rbacv1.SchemeGroupVersion.WithResource("rolebindings")}
	Roles              = Kind{"Role", rbacv1.SchemeGroupVersion.WithResource("roles")}
	ServiceAccounts    = Kind{"ServiceAccount", corev1.SchemeGroupVersion.WithResource("serviceaccounts")}
	OperatorConditions = Kind{"OperatorCondition", operatorsv2.GroupVersion.WithResource("operatorconditions")}

	// Kinds are all of them, in the order of their writes: Deployments must keep running.
	Kinds = []Kind{Deployments, Services, Secrets, RoleBindings, Roles, ServiceAccounts, OperatorConditions}
)
