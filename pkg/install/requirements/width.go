package requirements

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// widthViolations reports the first webhook with which the rules have too many combinations.
func widthViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
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
