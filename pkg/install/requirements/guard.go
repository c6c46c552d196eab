package requirements

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// guards are what the rule of a webhook must not include: a webhook that can refuse
// these can refuse its own repair. The messages are OLM v0's to the letter.
var guards = []struct {
	includes func(admissionregistrationv1.RuleWithOperations) bool
	message  string
	wayOut   string
}{
	{
		onGroup("*"),
		"webhook rules cannot include all groups",
		"name the API groups that the webhook handles",
	},
	{
		onGroup(operatorsv1alpha1.GroupName),
		"webhook rules cannot include the OLM group",
		"remove operators.coreos.com from apiGroups",
	},
	{
		onGroup(managerv1alpha1.GroupName),
		"webhook rules cannot include the " + managerv1alpha1.GroupName + " group",
		"remove it from apiGroups",
	},
	{
		both(onGroup(admissionregistrationv1.GroupName), onResource(
			"*",
			"mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
			"validatingwebhookconfigurations", "validatingwebhookconfiguration",
		)),
		"webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources",
		"name the other resources of admissionregistration.k8s.io that the webhook handles",
	},
}

// protectedGroups are those of which no resource may be intercepted or converted.
var protectedGroups = []string{operatorsv1alpha1.GroupName, managerv1alpha1.GroupName}

// ViolationKind tells mistakes apart for programs.
type ViolationKind int

// The kinds of violations.
const (
	ForbiddenRule ViolationKind = iota + 1
	RepeatedName
	WrongConversion
	WrongConditions
	TooManyCombinations
)

// Violation is a mistake in spec.webhookdefinitions that fails the whole
// ClusterServiceVersion with the reason InvalidWebhookDescription.
type Violation struct {
	Kind ViolationKind
	// Webhook is the index of the description in spec.webhookdefinitions; -1 for a mistake
	// that is about none in particular.
	Webhook int
	// GenerateName is the description's.
	GenerateName string
	// Message begins with OLM v0's text; the place follows.
	Message string
	WayOut  string
}

func (v Violation) String() string { return v.Message + "; " + v.WayOut }

// RuleViolations are the forbidden rules and the repeated names of a
// ClusterServiceVersion's webhooks, in the order in which OLM v0 looks at them: the
// first is what it would report.
//
// A name must be unique among all webhooks, of whatever type, as with OLM v0.
func RuleViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
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

// Forbidden says, in OLM v0's words, why a rule would let its webhook wedge the
// cluster, and what to write instead. Both are empty when it would not.
//
// It looks at groups and resources alone, as OLM v0 does, whatever the operations,
// versions and scope.
func Forbidden(rule admissionregistrationv1.RuleWithOperations) (message, wayOut string) {
	for _, guard := range guards {
		if guard.includes(rule) {
			return guard.message, guard.wayOut
		}
	}
	return "", ""
}

// onGroup is true of rules for an API group.
func onGroup(name string) func(admissionregistrationv1.RuleWithOperations) bool {
	return func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.APIGroups, func(group string) bool {
			return fold(group) == name
		})
	}
}

// onResource is true of rules for one of these resources, or for a subresource of one.
func onResource(names ...string) func(admissionregistrationv1.RuleWithOperations) bool {
	return func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.Resources, func(resource string) bool {
			parent, _, _ := strings.Cut(resource, "/")
			return slices.Contains(names, fold(parent))
		})
	}
}

func both(one, other func(admissionregistrationv1.RuleWithOperations) bool) func(admissionregistrationv1.RuleWithOperations) bool {
	return func(rule admissionregistrationv1.RuleWithOperations) bool { return one(rule) && other(rule) }
}

// fold takes away what the API server would not match anyway, case and blanks, so
// that what was meant is refused with its reason and not silently ineffective.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
