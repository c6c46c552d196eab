package takeover

// LabelOrder, on a ClusterServiceVersion (CSV), is the order of the administrator for it. It is a label, because
// olm-operator copies annotations of a CSV into pod templates, and no labels.
const LabelOrder = "olm-webhook-manager.io/takeover"

// Order is a value of the label. The zero value is a CSV without the label.
type Order string

// The orders.
const (
	// Held means that the manager manages the objects in the form in which olm-operator created them.
	Held Order = "held"
	// Converge means that the manager brings the objects into its own form.
	Converge Order = "converge"
	// GiveBack means that the manager brings the objects into a form that olm-operator accepts without a rollout.
	GiveBack Order = "give-back"
	// GivenBack means that the manager writes nothing of the CSV.
	GivenBack Order = "given-back"
)
