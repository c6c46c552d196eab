package csvspec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// TakeoverOrder returns the administrator's order about a takeover from olm-operator; empty for none, or an unknown one.
func TakeoverOrder(csv metav1.Object) string {
	switch order := csv.GetLabels()[wellknown.LabelTakeover]; order {
	case wellknown.TakeoverHeld, wellknown.TakeoverConverge, wellknown.TakeoverGiveBack, wellknown.TakeoverGivenBack:
		return order
	default:
		return ""
	}
}

// IsGivenBack reports whether olm-operator manages a CSV again.
func IsGivenBack(csv metav1.Object) bool { return TakeoverOrder(csv) == wellknown.TakeoverGivenBack }
