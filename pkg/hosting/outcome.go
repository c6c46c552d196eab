package hosting

// outcome is the result of a call, and a label of metrics.
type outcome string

const (
	allowed    outcome = "allowed"
	patched    outcome = "patched"
	denied     outcome = "denied"
	converted  outcome = "converted"
	refused    outcome = "refused"    // an object that cannot be converted
	invalid    outcome = "invalid"    // not a valid request for the webhook
	unready    outcome = "unready"    // before the webhook was prepared
	failed     outcome = "failed"     // the handler returned an error
	panicked   outcome = "panicked"   // the handler panicked
	overloaded outcome = "overloaded" // beyond a limit of calls in progress
)

var outcomes = []outcome{allowed, patched, denied, converted, refused, invalid, unready, failed, panicked, overloaded}
