package requirements

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

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
