// Package provider decides whether a ClusterServiceVersion provides an API that it claims to own. The claim alone is no
// proof: it would give the users of each namespace permissions on the kinds of another owner.
package provider

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// Provides reports whether a ClusterServiceVersion provides the API of a definition that it owns. Either a catalog or
// bundle install created or updated the definition for it, or its pods manage the objects of the definition.
// everywhere returns the rules that its ServiceAccounts have in all namespaces.
func Provides(csv *operatorsv1alpha1.ClusterServiceVersion, crd *apiextensionsv1.CustomResourceDefinition, everywhere func() map[string][]rbacv1.PolicyRule) bool {
	return installedWith(csv, crd) || manages(crd, everywhere())
}

// installedWith reads annotations of the definition. A client that can write them can already read and change each
// object of the definition, by a conversion webhook.
func installedWith(csv *operatorsv1alpha1.ClusterServiceVersion, crd *apiextensionsv1.CustomResourceDefinition) bool {
	for annotation, value := range crd.Annotations {
		if strings.HasPrefix(annotation, wellknown.AnnotationInstalledAlongsidePrefix) && value == csv.Namespace+"/"+csv.Name {
			return true
		}
	}
	namespace, _, found := strings.Cut(crd.Annotations[wellknown.AnnotationInstallation], "/")
	return found && namespace == csv.Namespace
}

// A grant in one namespace does not count: its owner could extend it to the users of other namespaces.
func manages(crd *apiextensionsv1.CustomResourceDefinition, everywhere map[string][]rbacv1.PolicyRule) bool {
	for _, rules := range everywhere {
		if permissions.Covers(rules, ruleOf(crd, "", "list", "watch")) && changes(crd, rules) {
			return true
		}
	}
	return false
}

func changes(crd *apiextensionsv1.CustomResourceDefinition, rules []rbacv1.PolicyRule) bool {
	for _, subresource := range []string{"", "/status", "/finalizers"} {
		if slices.ContainsFunc([]string{"create", "update", "patch"}, func(verb string) bool {
			return permissions.Covers(rules, ruleOf(crd, subresource, verb))
		}) {
			return true
		}
	}
	return false
}

func ruleOf(crd *apiextensionsv1.CustomResourceDefinition, subresource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{crd.Spec.Group}, Resources: []string{crd.Spec.Names.Plural + subresource}, Verbs: verbs}
}

// HasProvided reports whether a ClusterServiceVersion is in a phase in which its objects exist.
func HasProvided(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return !csv.IsCopied() && csv.DeletionTimestamp == nil && csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
}
