package owners

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// DefinitionOwners tells what must outlive the deletion of a ClusterServiceVersion in the foreground, which
// takes all that has no other owner: what a definition is converted by has that definition
// for a second owner, its definitionOwner.
type DefinitionOwners struct {
	csv     *operatorsv1alpha1.ClusterServiceVersion
	derived map[string][]metav1.OwnerReference // by kind and name
	account map[string][]metav1.OwnerReference // by name of the ServiceAccount
}

// DefinitionOwnersOf names the definitions of what converts, or is to: the definitions, as far as they exist, of live
// Deployments. Services are the names of their Services.
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
		pod := live.Spec.Template.Spec
		account := cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
		kept.account[account] = eachOnce(append(kept.account[account], definitions...))
		kept.derived["OperatorCondition "+csv.Name] = eachOnce(append(kept.derived["OperatorCondition "+csv.Name], definitions...))
	}
	return kept
}

// convertedDefinitions are the definitions that a Deployment converts by any of some Services, or that it is to
// convert.
func convertedDefinitions(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, services []string, crds map[string]*apiextensionsv1.CustomResourceDefinition) []metav1.OwnerReference {
	var definitions []metav1.OwnerReference
	for _, name := range slices.Sorted(maps.Keys(crds)) {
		crd := crds[name]
		i := csvspec.Converts(csv, name)
		declared := i >= 0 && csv.Spec.WebhookDefinitions[i].DeploymentName == deployment
		namespace, service := ConvertedBy(crd)
		if crd.DeletionTimestamp == nil && (declared || namespace == csv.Namespace && slices.Contains(services, service)) {
			definitions = append(definitions, definitionOwner(crd))
		}
	}
	return definitions
}

// eachOnce puts owners in an order that does not depend on where they were met.
func eachOnce(owners []metav1.OwnerReference) []metav1.OwnerReference {
	slices.SortFunc(owners, func(a, b metav1.OwnerReference) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(owners, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID })
}

func definitionOwner(crd *apiextensionsv1.CustomResourceDefinition) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: definitionKind,
		Name: crd.Name, UID: crd.UID, Controller: new(false), BlockOwnerDeletion: new(false),
	}
}

const definitionKind = "CustomResourceDefinition"

// isDefinitionOwner tells a definition that keeps an object from one that somebody else made its owner: what
// is written out here, others leave out.
func isDefinitionOwner(owner metav1.OwnerReference) bool {
	return owner.Kind == definitionKind && owner.Controller != nil && owner.BlockOwnerDeletion != nil
}

// Owners are the owner references that an object is to have, if they are not those that it
// has. It decides about what bears the ClusterServiceVersion's labels, and about what somebody else
// made that pods need, and that would go with the ClusterServiceVersion.
func (k DefinitionOwners) Owners(kind string, o metav1.Object, bindings []*rbacv1.RoleBinding) (owners []metav1.OwnerReference, differ bool) {
	var definitions []metav1.OwnerReference
	switch {
	case csvspec.HasOwnerLabels(o, k.csv):
		definitions = k.derived[kind+" "+o.GetName()]
	case !belongsTo(o, k.csv.UID):
		return nil, false
	}
	if len(definitions) == 0 {
		definitions = k.needed(kind, o, bindings)
	}
	has := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(owner metav1.OwnerReference) bool { return !isDefinitionOwner(owner) })
	return append(WithoutDefinitionOwners(o), definitions...), !equality.Semantic.DeepEqual(has, definitions)
}

// needed are the definitions of what the pods of a conversion get by their ServiceAccount.
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

// WithoutDefinitionOwners are the owners of an object but for the definitions that keep it.
func WithoutDefinitionOwners(o metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), isDefinitionOwner)
}

// HasDefinitionOwner tells whether a definition keeps an object.
func HasDefinitionOwner(o metav1.Object) bool { return slices.ContainsFunc(o.GetOwnerReferences(), isDefinitionOwner) }

// HasConversions tells whether a ClusterServiceVersion declares any conversion.
func HasConversions(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return len(conversionCRDs(csv)) > 0
}

// ConvertsLike tells whether a ClusterServiceVersion declares any conversion that another does.
func ConvertsLike(csv, other *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(conversionCRDs(other), func(crd string) bool { return csvspec.Converts(csv, crd) >= 0 })
}

func conversionCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var all []string
	for _, d := range csv.Spec.WebhookDefinitions {
		all = append(all, d.ConversionCRDs...)
	}
	return all
}

// Cleanup is what becomes of an object when the conversion ends for which it was kept.
type Cleanup string

// The fates.
const (
	// Ignore is an object that is not kept, or not for this ClusterServiceVersion.
	Ignore Cleanup = ""
	// Release is one that stays without its definitions: it was to be orphaned, or somebody else owns it, too.
	Release Cleanup = "Release"
	// Delete is one that would have gone already.
	Delete Cleanup = "Delete"
)

// CleanupOf is what becomes of an object when a ClusterServiceVersion goes, or, when it is orphaned,
// loses it.
func CleanupOf(o metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion, orphaned bool) Cleanup {
	keptForIt := slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return isDefinitionOwner(owner) && (csvspec.HasOwnerLabels(o, csv) || belongsTo(o, csv.UID) || csvspec.Converts(csv, owner.Name) >= 0)
	})
	if !keptForIt {
		return Ignore
	}
	fate := Delete
	for _, owner := range o.GetOwnerReferences() {
		switch {
		case isDefinitionOwner(owner), owner.UID == csv.UID:
		case owner.Kind == operatorsv1alpha1.ClusterServiceVersionKind:
			return Ignore
		default:
			fate = Release
		}
	}
	if orphaned {
		return Release
	}
	return fate
}

// OrphansDependents tells whether a ClusterServiceVersion is deleted so that what it owned stays. Once the garbage collector
// has seen to that, the finalizer that says so is gone, and the manager's own record of it, which nothing
// keeps, has lost its owner; deleted in the foreground, the record would be gone, or made anew.
func OrphansDependents(csv *operatorsv1alpha1.ClusterServiceVersion, record *managerv1alpha1.WebhookRollout) bool {
	switch {
	case slices.Contains(csv.Finalizers, metav1.FinalizerOrphanDependents):
		return true
	case slices.Contains(csv.Finalizers, metav1.FinalizerDeleteDependents), record == nil:
		return false
	default:
		return !belongsTo(record, csv.UID)
	}
}

func belongsTo(o metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}
