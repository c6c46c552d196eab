package requirements

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// A webhook with such a rule could refuse its own repair. Messages are OLM v0's, except that of the manager's group.
var guards = []guard{
	{
		group:   "*",
		message: "webhook rules cannot include all groups",
		wayOut:  "name the API groups that the webhook handles",
	},
	{
		group:   operatorsv1alpha1.GroupName,
		message: "webhook rules cannot include the OLM group",
		wayOut:  "remove operators.coreos.com from apiGroups",
	},
	{
		group:   managerv1alpha1.GroupName,
		message: "webhook rules cannot include the " + managerv1alpha1.GroupName + " group",
		wayOut:  "remove it from apiGroups",
	},
	{
		group: admissionregistrationv1.GroupName,
		resources: []string{
			"*",
			"mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
			"validatingwebhookconfigurations", "validatingwebhookconfiguration",
		},
		message: "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources",
		wayOut:  "name the other resources of admissionregistration.k8s.io that the webhook handles",
	},
}

type guard struct {
	group           string
	resources       []string // and their subresources; all if empty
	message, wayOut string
}

func (g guard) includedIn(rule admissionregistrationv1.RuleWithOperations) bool {
	isGroup := func(group string) bool { return fold(group) == g.group }
	isResource := func(resource string) bool {
		parent, _, _ := strings.Cut(resource, "/")
		return slices.Contains(g.resources, fold(parent))
	}
	return slices.ContainsFunc(rule.APIGroups, isGroup) && (len(g.resources) == 0 || slices.ContainsFunc(rule.Resources, isResource))
}

// protectedGroups are the API groups whose resources must not be intercepted or converted.
var protectedGroups = []string{operatorsv1alpha1.GroupName, managerv1alpha1.GroupName}

// ViolationKind is the kind of a violation.
type ViolationKind int

// The kinds of violations.
const (
	ForbiddenRule ViolationKind = iota + 1
	RepeatedName
	WrongConversion
	WrongConditions
	TooManyCombinations
)

// Violation is a part of spec.webhookdefinitions for which a CSV fails with InvalidWebhookDescription.
type Violation struct {
	Kind ViolationKind
	// Webhook is the index in spec.webhookdefinitions, or -1.
	Webhook      int
	GenerateName string
	// Message has the text of OLM v0, if OLM v0 finds the violation, and the field.
	Message string
	WayOut  string
}

func (v Violation) String() string { return v.Message + "; " + v.WayOut }

// ruleViolations begins with the one that OLM v0 reports. As there, a name must be unique among webhooks of all types.
func ruleViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
	var violations []Violation
	first := map[string]int{}
	for i, webhook := range csv.Spec.WebhookDefinitions {
		violate := func(kind ViolationKind, message, wayOut string) {
			violations = append(violations, Violation{kind, i, webhook.GenerateName, message, wayOut})
		}
		if earlier, repeated := first[webhook.GenerateName]; repeated {
			violate(RepeatedName, fmt.Sprintf("CSV contains repeated WebhookDescription name: spec.webhookdefinitions[%d] and [%d] both have generateName %q", earlier, i, webhook.GenerateName),
				"give each its own")
		} else {
			first[webhook.GenerateName] = i
		}
		for j, rule := range webhook.Rules {
			if message, wayOut := Forbidden(rule); message != "" {
				violate(ForbiddenRule, fmt.Sprintf("%s: spec.webhookdefinitions[%d].rules[%d] of %q does", message, i, j, webhook.GenerateName), wayOut)
			}
		}
	}
	return violations
}

// Forbidden returns a message and a next step. As in OLM v0, operations, versions and scope are ignored.
func Forbidden(rule admissionregistrationv1.RuleWithOperations) (message, wayOut string) {
	found := lists.First(guards, func(g guard) bool { return g.includedIn(rule) })
	return found.message, found.wayOut
}

// The API server would not match a name with spaces: the rule is refused, because it would have no effect.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// limitViolations returns the first webhook whose rules exceed csvspec.MaxCombinations.
func limitViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
	i := csvspec.WebhooksWithinLimit(csv)
	if i == len(csv.Spec.WebhookDefinitions) {
		return nil
	}
	d := csv.Spec.WebhookDefinitions[i]
	return []Violation{{
		TooManyCombinations, i, d.GenerateName,
		fmt.Sprintf("the rules of the webhooks up to spec.webhookdefinitions[%d] %q name more than %d combinations of API group and resource, or as many times %d bytes of their names", i, d.GenerateName, csvspec.MaxCombinations, csvspec.UsualText),
		"name in each rule only the groups that have the resources of the rule",
	}}
}

// The API server checks the expressions when the webhook is registered.
func conditionViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
	authored, err := csvspec.MatchConditions(csv)
	if err != nil {
		return []Violation{{
			Kind: WrongConditions, Webhook: -1, Message: fmt.Sprintf("annotation %s cannot be read: %v", wellknown.AnnotationMatchConditions, err),
			WayOut: "write the generateName of each webhook with a list of name and expression",
		}}
	}
	var violations []Violation
	for _, generateName := range slices.Sorted(maps.Keys(authored)) {
		at := slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
			return d.GenerateName == generateName && d.Type != operatorsv1alpha1.ConversionWebhook
		})
		violate := func(message, wayOut string) {
			violations = append(violations, Violation{WrongConditions, at, generateName, "annotation " + wellknown.AnnotationMatchConditions + ": " + message, wayOut})
		}
		if at < 0 {
			violate(fmt.Sprintf("%q is the generateName of no validating or mutating webhook of spec.webhookdefinitions", generateName), "correct or remove it")
		}
		seen := map[string]bool{}
		for i, c := range authored[generateName] {
			switch {
			case c.Name == "" || c.Expression == "":
				violate(fmt.Sprintf("condition [%d] of %q needs a name and an expression", i, generateName), "write both")
			case strings.HasPrefix(c.Name, wellknown.AnnotationPrefix):
				violate(fmt.Sprintf("condition %q of %q begins like the manager's own", c.Name, generateName), "give it another name")
			case seen[c.Name]:
				violate(fmt.Sprintf("there are two conditions %q of %q", c.Name, generateName), "give each its own name")
			}
			seen[c.Name] = true
		}
	}
	return violations
}
