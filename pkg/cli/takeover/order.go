package takeover

import "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"

// Order is a value of the label LabelTakeover of a ClusterServiceVersion (CSV). The zero value is a CSV without the label.
type Order string

// The orders. Package wellknown has their meaning.
const (
	Held      Order = wellknown.TakeoverHeld
	Converge  Order = wellknown.TakeoverConverge
	GiveBack  Order = wellknown.TakeoverGiveBack
	GivenBack Order = wellknown.TakeoverGivenBack
)
