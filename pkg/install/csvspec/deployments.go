// Package csvspec reads a ClusterServiceVersion (CSV): its Deployments, webhooks, APIs, accounts
// and the objects that belong to it by their metadata.
package csvspec

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// Deployments returns the Deployments of a CSV, the first one of each name (requirements.Check reports
// others): an installed CSV is still maintained, and each duplicate would cost as much as all its webhooks.
func Deployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.StrategyDeploymentSpec {
	return lists.Unique(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, nameOf)
}

// DeploymentNames returns the names of the Deployments of a CSV.
func DeploymentNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.Map(Deployments(csv), nameOf)
}

func nameOf(spec operatorsv1alpha1.StrategyDeploymentSpec) string { return spec.Name }

// HasDeployment reports whether a CSV has a Deployment with this name.
func HasDeployment(csv *operatorsv1alpha1.ClusterServiceVersion, name string) bool {
	specs := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range specs { // a copy of each is slow
		if specs[i].Name == name {
			return true
		}
	}
	return false
}

// DefaultPort is the port of a Service for a description without a port.
const DefaultPort = 443

// ServiceName returns OLM v0's name, unless it is taken. An existing alternate one stays: the certificate contains it.
func ServiceName(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, primaryTaken bool, alternateExists bool) string {
	if primaryTaken || alternateExists {
		return AlternateServiceName(csv, deployment)
	}
	return names.Service(deployment)
}

// AlternateServiceName returns the name that is used if another client has the usual name.
func AlternateServiceName(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) string {
	return names.Service(deployment + "." + csv.Name)
}

// ServiceAccounts returns the names in the permissions of a CSV, in the order of their first use.
func ServiceAccounts(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	all := slices.Concat(strategy.Permissions, strategy.ClusterPermissions)
	return lists.Distinct(lists.Map(all, func(p operatorsv1alpha1.StrategyDeploymentPermissions) string { return p.ServiceAccountName }))
}

// ServiceAccountOf returns the name of the ServiceAccount of a pod.
func ServiceAccountOf(pod corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
}

// RulesOf returns the rules that permissions grant to a ServiceAccount.
func RulesOf(permissions []operatorsv1alpha1.StrategyDeploymentPermissions, account string) []rbacv1.PolicyRule {
	return slices.Concat(lists.FilterMap(permissions, func(p operatorsv1alpha1.StrategyDeploymentPermissions) ([]rbacv1.PolicyRule, bool) {
		return p.Rules, p.ServiceAccountName == account
	})...)
}

// DeploymentsSelecting returns the names of the Deployments of a CSV that select pods with some labels.
func DeploymentsSelecting(csv *operatorsv1alpha1.ClusterServiceVersion, pod map[string]string) []string {
	return lists.FilterMap(Deployments(csv), func(spec operatorsv1alpha1.StrategyDeploymentSpec) (string, bool) {
		selector, err := metav1.LabelSelectorAsSelector(spec.Spec.Selector)
		return spec.Name, err == nil && selector.Matches(labels.Set(pod)) // the API server refuses an invalid selector
	})
}
