package show

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// escalations are the verbs by which an account gets the permissions of others, and the resources for which API servers
// check them. API servers check bind on the role, not on the binding.
var escalations = []struct {
	verb, group string
	resources   []string
}{
	{"escalate", rbacv1.GroupName, []string{"clusterroles", "roles"}},
	{"bind", rbacv1.GroupName, []string{"clusterroles", "roles"}},
	{"impersonate", "", []string{"users", "groups", "serviceaccounts"}},
}

// Administers returns why a rule makes an account an administrator; empty if it does not.
func Administers(rule rbacv1.PolicyRule) string {
	if everything(rule.APIGroups) && everything(rule.Resources) && everything(rule.Verbs) {
		return "the rule allows everything on everything"
	}
	var named, included []string
	for _, e := range escalations {
		switch {
		case slices.Contains(rule.Verbs, e.verb):
			named = append(named, e.verb)
		case everything(rule.Verbs) && covers(rule.APIGroups, e.group) && coversResource(rule.Resources, e.resources...):
			included = append(included, e.verb)
		}
	}
	const effect = "by which an account gets the permissions of others"
	switch {
	case len(included) > 0:
		return fmt.Sprintf("the rule allows the verb *, which includes %s, %s", strings.Join(append(named, included...), " and "), effect)
	case len(named) > 0:
		return fmt.Sprintf("the rule allows to %s, %s", strings.Join(named, " and "), effect)
	default:
		return ""
	}
}

// covers reports whether a list of a rule has one of the items, or stands for all.
func covers(list []string, either ...string) bool { return everything(list) || anyOf(list, either...) }

// coversResource matches as API servers do: "*" is every resource with its subresources, and "*/exec" is that subresource
// of every resource.
func coversResource(list []string, either ...string) bool {
	return covers(list, either...) || slices.ContainsFunc(either, func(resource string) bool {
		_, subresource, found := strings.Cut(resource, "/")
		return found && slices.Contains(list, "*/"+subresource)
	})
}

// Degrees of the danger of a rule, without its account and scope.
const (
	leadsToAdministrator = 2
	isAdministrator      = 3
)

// dangerOf puts grants to other accounts first, then what makes an account an administrator, then what leads there.
func dangerOf(account, where string, rule rbacv1.PolicyRule) int {
	danger := 0
	switch {
	case slices.Contains(rule.Verbs, "all of"), Administers(rule) != "":
		danger = isAdministrator
	case coversResource(rule.Resources, "secrets", "serviceaccounts/token", "pods/exec", "pods/attach", "pods/ephemeralcontainers", "nodes/proxy",
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "mutatingadmissionpolicies", "validatingadmissionpolicies",
		"customresourcedefinitions", "apiservices", "certificatesigningrequests/approval"):
		danger = leadsToAdministrator
	case everything(rule.Verbs):
		danger = 1
	}
	others := strings.Contains(account, " ")
	if others && (danger > 0 || where != theirScope) {
		danger += 4
	}
	if where == "cluster" && danger > 0 {
		danger++
	}
	return danger
}

// Escalates reports whether a rule makes an account an administrator, or leads there. An account that creates pods, or
// changes their image, can use any ServiceAccount and any Secret of the namespace.
func Escalates(rule rbacv1.PolicyRule) bool {
	return anyOf(rule.Verbs, "*", "create", "update", "patch") && coversResource(rule.Resources, workloads...) || dangerOf("", "", rule) >= leadsToAdministrator
}

var workloads = []string{"pods", "replicationcontrollers", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs"}

func everything(list []string) bool { return slices.Contains(list, "*") }

func anyOf(list []string, either ...string) bool {
	return slices.ContainsFunc(list, func(item string) bool { return slices.Contains(either, item) })
}
