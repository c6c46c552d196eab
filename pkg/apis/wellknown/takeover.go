package wellknown

// LabelTakeover, on a ClusterServiceVersion that olm-operator installed, is the administrator's order
// about its takeover. It is a label, because olm-operator copies annotations of a
// ClusterServiceVersion into pod templates, and a changed pod template restarts the pods.
const LabelTakeover = "olm-webhook-manager.io/takeover"

// Values of LabelTakeover.
const (
	// TakeoverHeld keeps the objects in the form in which olm-operator made them. Certificates and
	// trust are maintained.
	TakeoverHeld = "held"
	// TakeoverConverge brings the objects into the manager's form, as without the label. The status of
	// the WebhookRollout reports the progress.
	TakeoverConverge = "converge"
	// TakeoverGiveBack brings the objects into a form that olm-operator accepts without a rollout.
	TakeoverGiveBack = "give-back"
	// TakeoverGivenBack ends all writes of the manager for the ClusterServiceVersion, except those of
	// its WebhookRollout, which reports whether the objects are given back. If it is deleted, the
	// manager uninstalls it all the same.
	TakeoverGivenBack = "given-back"
)

// AnnotationTakeoverForm, on a Deployment that was given back to olm-operator, is a hash of what olm-operator makes of the
// ClusterServiceVersion, without the certificate. While it is current, the Deployment needs no rollout, also with pods in
// the manager's form. olm-operator removes it with its next rollout.
const AnnotationTakeoverForm = "olm-webhook-manager.io/takeover-form"
