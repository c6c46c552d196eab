package takeover

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Order is a value of the label LabelTakeover of a ClusterServiceVersion (CSV). The zero value is a CSV without the label.
type Order string

// The orders. Package wellknown has their meaning.
const (
	Held      Order = wellknown.TakeoverHeld
	Converge  Order = wellknown.TakeoverConverge
	GiveBack  Order = wellknown.TakeoverGiveBack
	GivenBack Order = wellknown.TakeoverGivenBack
)

// OrderOf returns the order of a CSV. A value that the manager does not know is none.
func OrderOf(csv metav1.Object) Order { return Order(csvspec.TakeoverOrder(csv)) }

// HasUnknownLabel reports whether the label of a CSV has a value that the manager does not know.
func HasUnknownLabel(csv metav1.Object) bool {
	_, labelled := csv.GetLabels()[wellknown.LabelTakeover]
	return labelled && OrderOf(csv) == ""
}
