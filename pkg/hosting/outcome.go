package hosting

// outcome is what became of a call, in the word that the metrics have for it.
type outcome string

const (
	allowed   outcome = "allowed"
	patched   outcome = "patched"
	denied    outcome = "denied"
	converted outcome = "converted"
	refused   outcome = "refused"  // a conversion that its function does not do
	invalid   outcome = "invalid"  // nothing that the webhook could answer
	unready   outcome = "unready"  // before the webhook was prepared
	failed    outcome = "failed"   // the handler returned an error
	panicked  outcome = "panicked" // the handler panicked

	overloaded outcome = "overloaded" // the calls in progress left no room for it
)

var outcomes = []outcome{allowed, patched, denied, converted, refused, invalid, unready, failed, panicked, overloaded}
