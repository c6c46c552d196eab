package informers

import (
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const (
	// ByOwner indexes objects by their owner ID.
	ByOwner = "owner"
	// ByCRD indexes ClusterServiceVersions by the definitions that they own, require, or convert.
	ByCRD = "crd"
	// ByReplaced indexes ClusterServiceVersions by the versions that they replace.
	ByReplaced = "replaced"
	// ByNamed indexes Subscriptions by the ClusterServiceVersions that they name.
	ByNamed = "named"
	// ByPlanned indexes InstallPlans by the ClusterServiceVersions for which they create Roles.
	ByPlanned = "planned"
	// ByOwned indexes ClusterServiceVersions by their namespace and what of cluster scope they own.
	ByOwned = "owned"
	// ByAPI indexes ClusterServiceVersions by the APIServices that they depend on.
	ByAPI = "api"
	// BySubject indexes bindings by subject, and ClusterServiceVersions and OperatorGroups by the subjects that match
	// their accounts.
	BySubject = "subject"
	// ByRole indexes bindings by the role that they refer to (see drift.KeyOf).
	ByRole = "role"
	// ByGroupLabel indexes Namespaces, OperatorGroups and registrations by the labels of OperatorGroups.
	ByGroupLabel = "grouplabel"
	// ByTarget indexes OperatorGroups by the Namespaces that they name.
	ByTarget = "target"
	// BySelection indexes OperatorGroups by the labels with which they select Namespaces.
	BySelection = "selection"
	// ByDeployment indexes ClusterServiceVersions by the Deployments that they name.
	ByDeployment = "deployment"
	// ByReplacing indexes Secrets whose certificate is being replaced, all under one value.
	ByReplacing = "replacing"
	// ByConverter indexes CustomResourceDefinitions by the Service that converts them.
	ByConverter = "converter"
	// ByGroup indexes by API group, ClusterServiceVersions by the groups of the APIServices that they own.
	ByGroup = "group"
	// ByRuled indexes ClusterServiceVersions by the API groups that rules of their webhooks name.
	ByRuled = "ruled"
	// ByIssuer indexes Subscriptions by the issuer of cert-manager that they name (see drift.KeyOf).
	ByIssuer = "issuer"
	// ByService indexes EndpointSlices by their Service.
	ByService = "service"
)

var indexers = cache.Indexers{
	ByOwner:      by(OwnersOf),
	ByCRD:        by(csvspec.RequiredCRDs),
	ByReplaced:   by(inNamespace(lineage.Replaced)),
	ByNamed:      by(inNamespace(subscriptions.CSVNames)),
	ByPlanned:    by(inNamespace(permissions.PlannedFor)),
	ByOwned:      by(unlessCopied(inNamespace(csvspec.OwnedNames))),
	ByDeployment: by(unlessCopied(inNamespace(csvspec.DeploymentNames))),
	ByReplacing: by(func(secret *corev1.Secret) []string {
		if certs.RotationUnfinished(secret) {
			return []string{""}
		}
		return nil
	}),
	ByGroupLabel: by(groupLabelsOf),
	ByTarget:     by(scope.TargetNames),
	BySelection:  by(scope.SelectionKeys),
	ByAPI:        by(apisOf),
	BySubject:    by(SubjectsOf),
	ByRole:       by(roleOf),
	ByGroup:      by(GroupsServedBy),
	ByRuled:      by(rules.Groups),
	ByIssuer:     by(issuerOf),
	ByService: by(inNamespace(func(slice *discoveryv1.EndpointSlice) []string {
		return []string{slice.Labels[discoveryv1.LabelServiceName]}
	})),
	ByConverter: by(func(crd *apiextensionsv1.CustomResourceDefinition) []string {
		if namespace, service := owners.ConvertedBy(crd); namespace != "" {
			return []string{namespace + "/" + service}
		}
		return nil
	}),
}

// by returns the index of objects of one type; other objects are not in it.
func by[T any](values func(T) []string) cache.IndexFunc {
	return func(o any) ([]string, error) {
		if object, ok := o.(T); ok {
			return values(object), nil
		}
		return nil, nil
	}
}

func inNamespace[T metav1.Object](names func(T) []string) func(T) []string {
	return func(o T) []string {
		return lists.Map(names(o), func(name string) string { return o.GetNamespace() + "/" + name })
	}
}

func unlessCopied(values func(*operatorsv1alpha1.ClusterServiceVersion) []string) func(*operatorsv1alpha1.ClusterServiceVersion) []string {
	return func(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
		if csv.IsCopied() {
			return nil
		}
		return values(csv)
	}
}

// SubjectsOf returns the subjects of a binding, or the subjects that match a ClusterServiceVersion.
func SubjectsOf(o drift.Object) []string {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return permissions.SubjectKeys(o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		return permissions.SubjectKeys(o.Subjects)
	case *operatorsv1.OperatorGroup:
		if o.Spec.ServiceAccountName == "" {
			return nil
		}
		return permissions.SubjectsOf(o.Namespace, o.Spec.ServiceAccountName)
	case *operatorsv1alpha1.ClusterServiceVersion:
		return slices.Concat(lists.Map(csvspec.ServiceAccounts(o), func(account string) []string { return permissions.SubjectsOf(o.Namespace, account) })...)
	default:
		return nil
	}
}

func roleOf(o drift.Object) []string {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return []string{keyOf(o.RoleRef.Kind, o.Namespace, o.RoleRef.Name)}
	case *rbacv1.ClusterRoleBinding:
		return []string{keyOf(o.RoleRef.Kind, metav1.NamespaceAll, o.RoleRef.Name)}
	default:
		return nil
	}
}

// keyOf returns drift.KeyOf of a role or issuer that an object of a namespace names. It may be of cluster scope.
func keyOf(kind, namespace, name string) string {
	if kind == "ClusterRole" || kind == "ClusterIssuer" {
		namespace = metav1.NamespaceAll
	}
	return kind + " " + cache.NewObjectName(namespace, name).String()
}

// GroupsServedBy returns the API groups that an object makes the API server serve.
func GroupsServedBy(o drift.Object) []string {
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		return []string{o.Spec.Group}
	case *apiregistrationv1.APIService:
		return []string{o.Spec.Group}
	case *operatorsv1alpha1.ClusterServiceVersion:
		return csvspec.ServedGroups(o)
	default:
		return nil
	}
}

func apisOf(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	required := lists.Map(csvspec.RequiredAPIs(csv), func(kind schema.GroupVersionKind) string { return csvspec.APIServiceName(kind.Group, kind.Version) })
	return append(required, csvspec.APIServices(csv)...)
}

// Nothing watches issuers of other groups than cert-manager's.
func issuerOf(subscription *operatorsv1alpha1.Subscription) []string {
	choice, err := issuers.ChoiceOf(subscriptions.ConfigOf(subscription).Annotations)
	if err != nil || choice.Issuer.Group != issuers.Issuers.Group {
		return nil
	}
	return []string{keyOf(choice.Issuer.Kind, subscription.Namespace, choice.Issuer.Name)}
}

// SelectedLabels returns the labels with which a registration selects Namespaces.
func SelectedLabels(registration drift.Object) map[string]bool {
	selected := map[string]bool{}
	for _, w := range webhookconfig.Webhooks(registration) {
		if w.NamespaceSelector == nil {
			continue
		}
		for label := range w.NamespaceSelector.MatchLabels {
			selected[label] = true
		}
	}
	return selected
}

func groupLabelsOf(o drift.Object) []string {
	switch o := o.(type) {
	case *corev1.Namespace:
		return scope.GroupLabels(o)
	case *operatorsv1.OperatorGroup:
		return []string{scope.LabelOf(o)}
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return slices.DeleteFunc(slices.Collect(maps.Keys(SelectedLabels(o))), func(label string) bool { return !operatorsv1.IsOperatorGroupLabel(label) })
	default:
		return nil
	}
}
