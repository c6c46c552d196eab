package requirements

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// The installer creates the ServiceAccounts. Their rules are dependents.
func requiredAccounts(f Facts) []operatorsv1alpha1.RequirementStatus {
	return lists.Map(csvspec.ServiceAccounts(f.CSV), func(name string) operatorsv1alpha1.RequirementStatus { return requiredAccount(f, name) })
}

func requiredAccount(f Facts, name string) operatorsv1alpha1.RequirementStatus {
	result := operatorsv1alpha1.RequirementStatus{Version: "v1", Kind: "ServiceAccount", Name: name}
	account := f.ServiceAccounts[name]
	switch {
	case account == nil:
		result.Status = operatorsv1alpha1.RequirementStatusReasonNotPresent
		result.Message = fmt.Sprintf("Service account does not exist: create it, with the permissions that spec.install.spec asks for, in namespace %s", f.CSV.Namespace)
	case ownedByAnotherCSV(account, f.CSV):
		result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
		result.Message = "Service account is owned by another ClusterServiceVersion"
	case csvspec.PermissionCombinations(f.CSV) > csvspec.MaxGrants:
		result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
		result.Message = fmt.Sprintf("the rules of spec.install.spec.permissions and clusterPermissions have more than %d combinations of verb, group, resource and name: name fewer in each", csvspec.MaxGrants)
	default:
		result.Status, result.UUID = operatorsv1alpha1.RequirementStatusReasonPresent, string(account.UID)
		var lacks []string
		result.Dependents, lacks = requiredRules(f, name)
		if len(lacks) > 0 {
			result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
			result.Message = "Policy rule not satisfied for service account: " + strings.Join(lacks, "; ")
		}
	}
	return result
}

func ownedByAnotherCSV(account *corev1.ServiceAccount, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	others := 0
	for _, owner := range account.OwnerReferences {
		if !groupkind.IsOwner(owner, groupkind.ClusterServiceVersion) {
			continue
		}
		if owner.Name == csv.Name {
			return false
		}
		others++
	}
	return others > 0
}

// lacks has a short text for the rules that are not granted.
func requiredRules(f Facts, account string) (rules []operatorsv1alpha1.DependentStatus, lacks []string) {
	strategy := f.CSV.Spec.InstallStrategy.StrategySpec
	check := func(all []operatorsv1alpha1.StrategyDeploymentPermissions, scope string, namespaces []string, wayOut func([]string) string) {
		missing := map[string][]string{} // by way out
		var ways []string
		for _, rule := range csvspec.RulesOf(all, account) {
			status := operatorsv1alpha1.DependentStatusReasonSatisfied
			if lacking := f.Access.Lacking(account, rule, namespaces); len(lacking) > 0 {
				status = operatorsv1alpha1.DependentStatusReasonNotSatisfied
				way := wayOut(lacking)
				if missing[way] == nil {
					ways = append(ways, way)
				}
				missing[way] = append(missing[way], inWords(rule))
			}
			rules = append(rules, operatorsv1alpha1.DependentStatus{
				Group: rbacv1.GroupName, Version: "v1", Kind: "PolicyRule", Status: status,
				Message: scope + " rule:" + asJSON(rule),
			})
		}
		for _, way := range ways {
			lacks = append(lacks, "it may not "+fewRules(missing[way])+" "+way)
		}
	}
	check(strategy.Permissions, "namespaced", permissions.GrantedIn(f.CSV.Namespace, f.Targets), func(lacking []string) string {
		return grantIn(lacking, account, f.Unlisted[account])
	})
	check(strategy.ClusterPermissions, "cluster", []string{metav1.NamespaceAll}, func([]string) string {
		return "in the whole cluster: bind a ClusterRole with the rules of spec.install.spec.clusterPermissions of account " + account + " to it with a ClusterRoleBinding"
	})
	return rules, lacks
}

// grantIn returns how to grant the permissions of an account in some namespaces. Some Roles are not lifted to them, because
// no InstallPlan lists them.
func grantIn(lacking []string, account string, unlisted []string) string {
	in, role, granted := "in namespace "+few(lacking, ", "), "Role", "to it there"
	if lacking[0] == metav1.NamespaceAll {
		in, role, granted = "in all namespaces", "ClusterRole", "to it with a ClusterRoleBinding"
	}
	switch {
	case len(unlisted) > 0:
		return fmt.Sprintf("%s: Role %s is not lifted, because no InstallPlan lists it: install the operator by a Subscription, or bind a %s %s", in, few(unlisted, ", "), role, granted)
	case lacking[0] == metav1.NamespaceAll:
		in += ", which the OperatorGroup targets: a Role grants it in its own namespace only, so"
	default:
		in += ":"
	}
	return fmt.Sprintf("%s bind a %s with the rules of spec.install.spec.permissions of account %s %s", in, role, account, granted)
}

// inWords formats a rule, as in "get, list pods, services of apps".
func inWords(rule rbacv1.PolicyRule) string {
	if len(rule.NonResourceURLs) > 0 {
		return strings.Join(rule.Verbs, ", ") + " " + strings.Join(rule.NonResourceURLs, ", ")
	}
	words := strings.Join(rule.Verbs, ", ") + " " + strings.Join(rule.Resources, ", ")
	if groups := slices.DeleteFunc(slices.Clone(rule.APIGroups), func(g string) bool { return g == "" }); len(groups) > 0 {
		words += " of " + strings.Join(groups, ", ")
	}
	if len(rule.ResourceNames) > 0 {
		words += " named " + strings.Join(rule.ResourceNames, ", ")
	}
	return words
}

// fewRules formats the first rules, and names the field that has all of them.
func fewRules(all []string) string {
	rules := few(all, ", nor ")
	if len(all) > readable {
		rules += " (all are in status.requirementStatus)"
	}
	return rules
}

const readable = 3

func few(all []string, separator string) string {
	if len(all) <= readable {
		return strings.Join(all, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:readable], separator), len(all)-readable)
}

func asJSON(rule rbacv1.PolicyRule) string {
	text, err := json.Marshal(rule)
	if err != nil {
		panic(err) // API types always marshal
	}
	return string(text)
}
