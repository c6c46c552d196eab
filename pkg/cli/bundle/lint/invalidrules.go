package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

func incompleteRule(_ *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
	const refused = "the API server refuses to register the webhook: "
	operations := lists.Texts(rule.Operations)
	for _, list := range []struct {
		field string
		items []string
	}{{"operations", operations}, {"apiGroups", rule.APIGroups}, {"apiVersions", rule.APIVersions}, {"resources", rule.Resources}} {
		if flaw, remedy := invalidList(list.field, list.items); flaw != "" {
			report(list.field, refused+flaw, remedy)
			return
		}
	}
	for _, o := range operations {
		if !slices.Contains([]string{"*", "CREATE", "UPDATE", "DELETE", "CONNECT"}, o) {
			report("operations", refused+fmt.Sprintf("there is no operation %q", o), "write CREATE, UPDATE, DELETE, CONNECT or *")
			return
		}
	}
	if covered, by := coveredResource(rule.Resources); covered != "" {
		report("resources", refused+fmt.Sprintf("%s is listed next to %s, which covers it", covered, by), "remove one of the two")
	} else if rule.Scope != nil && !slices.Contains([]admissionregistrationv1.ScopeType{"*", "Cluster", "Namespaced"}, *rule.Scope) {
		report("scope", refused+fmt.Sprintf("there is no scope %q", *rule.Scope), "write Cluster, Namespaced or *")
	}
}

func invalidList(field string, items []string) (what, remedy string) {
	switch {
	case len(items) == 0:
		return "a rule without " + field, "name at least one"
	case field != "apiGroups" && slices.Contains(items, ""):
		return "an empty name among the " + field, "write the name, or remove it"
	case field != "resources" && len(items) > 1 && slices.Contains(items, "*"):
		return "* among other " + field, "write it alone, or name them all"
	}
	return "", ""
}

// coveredResource finds a resource that an API server refuses next to another. The order matters, as there.
func coveredResource(resources []string) (covered, by string) {
	var plain []string
	for i, resource := range resources {
		name, subresource, nested := strings.Cut(resource, "/")
		if !nested {
			plain = append(plain, resource)
			continue
		}
		for _, wide := range []string{name + "/*", "*/" + subresource} {
			if slices.Contains(resources[:i], wide) {
				return resource, wide
			}
		}
	}
	if others := slices.DeleteFunc(slices.Clone(resources), func(r string) bool { return r == "*/*" }); len(others) > 0 && len(others) < len(resources) {
		return others[0], "*/*"
	}
	if slices.Contains(plain, "*") && plain[len(plain)-1] != "*" {
		return plain[len(plain)-1], "*"
	}
	return "", ""
}
