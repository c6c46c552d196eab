package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Mismatch is a resource in a rule that matches no request.
type Mismatch struct {
	Rule     int
	Resource string
	// What is the fact and its cause, without a subject.
	What   string
	WayOut string
}

// Each is compared with all served resources.
const maxUnmatched = 100

// Mismatches returns the first 100. A resource that the catalog does not know may match.
func Mismatches(d operatorsv1alpha1.WebhookDescription, c Catalog) []Mismatch {
	var all []Mismatch
	for i, rule := range d.Rules {
		if len(rule.APIGroups) == 0 || len(rule.APIVersions) == 0 {
			continue // the API server refuses it
		}
		for _, named := range rule.Resources {
			if f := c.Find(rule, named); len(f.Served) > 0 || f.unknown || named == "" {
				continue
			}
			if len(all) == maxUnmatched {
				return all
			}
			what, wayOut := c.explain(rule, named)
			all = append(all, Mismatch{i, named, what, wayOut})
		}
	}
	return all
}

func (c Catalog) explain(rule admissionregistrationv1.RuleWithOperations, named string) (what, wayOut string) {
	anyVersion, anyScope := rule, rule
	anyVersion.APIVersions, anyScope.Scope = []string{"*"}, nil
	switch elsewhere, absent := c.Find(anyVersion, named).Served, c.absent(rule.APIGroups); {
	case len(c.Find(anyScope, named).Served) > 0:
		return fmt.Sprintf("no %s has the scope %s", quoted(named), *rule.Scope), "remove scope from the rule"
	case len(elsewhere) > 0:
		return fmt.Sprintf("%s of %s is not served in %s", quoted(named), groupsText(rule.APIGroups), strings.Join(rule.APIVersions, ", ")),
			"add to apiVersions one that is served: " + strings.Join(versionsOf(elsewhere), ", ")
	case len(absent) == len(rule.APIGroups):
		return fmt.Sprintf("%s is not served", groupsText(absent)), c.nearestGroup(absent)
	default:
		return fmt.Sprintf("there is no resource %s in %s", quoted(named), groupsText(rule.APIGroups)), c.nearestResource(rule, named)
	}
}

func (c Catalog) absent(groups []string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return c.Groups[group] != nil })
}

func versionsOf(served []Served) []string {
	return lists.Distinct(lists.Map(served, func(s Served) string { return s.Version.Version }))
}

func (c Catalog) nearestGroup(absent []string) string {
	for _, group := range absent {
		if near := c.NearestGroup(group); near != "" {
			return near
		}
	}
	return "correct apiGroups, or install what serves it"
}

// NearestGroup suggests a served group with a similar name, or returns "".
func (c Catalog) NearestGroup(group string) string {
	if group == "core" || group == "v1" {
		return `write "" in apiGroups, which is the core API group`
	}
	if near := Nearest(group, slices.Concat(slices.Sorted(maps.Keys(c.Groups)), c.Names)); near != "" {
		return fmt.Sprintf("write %s in apiGroups", quoted(near))
	}
	return ""
}

// nearestResource suggests the plural of a kind, or a resource with a similar name.
func (c Catalog) nearestResource(rule admissionregistrationv1.RuleWithOperations, named string) string {
	resource, subresource, below := strings.Cut(named, "/")
	var plurals []string
	for _, group := range rule.APIGroups {
		for _, version := range slices.Sorted(maps.Keys(c.Groups[group])) {
			for _, r := range c.Groups[group][version] {
				if strings.EqualFold(r.Kind.Kind, resource) && !strings.Contains(r.Name, "/") {
					return fmt.Sprintf("write its plural, %s", quoted(strings.TrimSuffix(r.Name+"/"+subresource, "/")))
				}
				if below == strings.Contains(r.Name, "/") && !slices.Contains(plurals, r.Name) {
					plurals = append(plurals, r.Name)
				}
			}
		}
	}
	if near := Nearest(named, plurals); near != "" {
		return fmt.Sprintf("write %s", quoted(near))
	}
	if group, served := c.elsewhere(named); served {
		return fmt.Sprintf("write %s in apiGroups, which has it", quoted(group))
	}
	return "correct the name (kubectl api-resources lists them), or install what serves it"
}

func (c Catalog) elsewhere(named string) (group string, served bool) {
	anyGroup := admissionregistrationv1.Rule{APIGroups: slices.Sorted(maps.Keys(c.Groups)), APIVersions: []string{"*"}}
	found := c.Find(admissionregistrationv1.RuleWithOperations{Rule: anyGroup}, named).Served
	if strings.HasPrefix(named, "*") || len(found) == 0 {
		return "", false
	}
	return found[0].Version.Group, true
}

func quoted(name string) string { return fmt.Sprintf("%.100q", name) }

func groupsText(groups []string) string {
	return strings.Join(lists.Map(groups, func(group string) string {
		if group == "" {
			return "the core API group"
		}
		return "API group " + quoted(group)
	}), ", ")
}

// Nearest ignores case. The edit distance is at most two, or one for a short name.
func Nearest(name string, candidates []string) string {
	best, least := "", 2+min(len(name)/5, 1)
	for _, candidate := range candidates {
		if candidate == name || candidate == "" || max(len(candidate), len(name))-min(len(candidate), len(name)) >= least {
			continue // The difference in length alone is too many edits: long names cost nothing.
		}
		if edits := distance(strings.ToLower(name), strings.ToLower(candidate)); edits < least {
			best, least = candidate, edits
		}
	}
	return best
}

// distance is the Levenshtein distance of two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
