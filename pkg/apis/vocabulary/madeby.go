package vocabulary

// AnnotationMadeBy, on an OperatorGroup or a Subscription, is MadeByBundle where it came with a
// bundle, by bundle install or by what bundle render prints: bundle uninstall removes no other.
const (
	AnnotationMadeBy = "olm-webhook-manager.io/made-by"
	MadeByBundle     = "bundle"
)
