package vocabulary

// AnnotationMadeBy, on an OperatorGroup or a Subscription, is MadeByBundle if bundle install or bundle render
// wrote the object. It informs people only. The record of an installation decides what is removed.
const (
	AnnotationMadeBy = "olm-webhook-manager.io/made-by"
	MadeByBundle     = "bundle"
)
