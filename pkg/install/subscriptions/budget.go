package subscriptions

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Budget is the limit of a PodDisruptionBudget. One of its fields is set.
type Budget struct {
	MaxUnavailable, MinAvailable *intstr.IntOrString
}

// HasBudget reports whether an annotation asks for PodDisruptionBudgets of the operator.
func (c Config) HasBudget(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	r := c.availabilityReader(csv)
	_, set := r.annotations[wellknown.AnnotationAvailabilityBudget]
	return set && r.budget() != nil && len(servingDeployments(csv)) > 0
}

// RefuseBudget returns the message that the annotation about budgets does not apply to a Deployment.
func (c Config) RefuseBudget(csv *operatorsv1alpha1.ClusterServiceVersion, deployment, why string) string {
	r := c.availabilityReader(csv)
	r.refuse("%s does not apply to Deployment %s, because %s", wellknown.AnnotationAvailabilityBudget, deployment, why)
	return r.refusals[0]
}

func (r *availabilityReader) budget() *Budget {
	text, set := r.annotations[wellknown.AnnotationAvailabilityBudget]
	if !set {
		return nil
	}
	field, number, _ := strings.Cut(text, "=")
	limit, valid := limitOf(strings.TrimSpace(number))
	switch field = strings.TrimSpace(field); {
	case valid && field == "maxUnavailable":
		return &Budget{MaxUnavailable: limit}
	case valid && field == "minAvailable":
		return &Budget{MinAvailable: limit}
	}
	r.refuse("%s is %q, which is no limit: set one such as \"maxUnavailable=1\" or \"minAvailable=50%%\"", wellknown.AnnotationAvailabilityBudget, text)
	return nil
}

// limitOf reads a number of pods, or a percentage of at most 100.
func limitOf(text string) (limit *intstr.IntOrString, valid bool) {
	digits, percentage := strings.CutSuffix(text, "%")
	number, err := strconv.ParseInt(digits, 10, 32)
	switch {
	case err != nil, number < 0, percentage && number > 100:
		return nil, false
	case percentage:
		return new(intstr.FromString(strconv.FormatInt(number, 10) + "%")), true
	default:
		return new(intstr.FromInt32(int32(number))), true
	}
}
