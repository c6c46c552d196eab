package render

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// matchConditions are those that keep a webhook from stopping itself, and then those
// that its author wrote: a WebhookDescription has no field for them.
func matchConditions(in Input, d operatorsv1alpha1.WebhookDescription) []admissionregistrationv1.MatchCondition {
	var conditions []admissionregistrationv1.MatchCondition
	for _, l := range in.exempted(d) {
		conditions = append(conditions, l.Condition())
	}
	authored, err := csvspec.MatchConditions(in.CSV)
	if err != nil {
		return conditions // such a ClusterServiceVersion is not installed
	}
	return append(conditions, authored[d.GenerateName]...)
}
