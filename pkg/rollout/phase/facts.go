package phase

// Facts are what the phase of a ClusterServiceVersion depends on, besides the phase
// that it is in. The texts are empty where they do not apply.
type Facts struct {
	Details               string // a command that shows every message as a whole; empty if there is none
	Failure               *Phase // a stable failure: no scope, or a mistake in the ClusterServiceVersion
	Unmet                 string // requirements that are not met
	Refused               string // what the API server does not accept
	Incomplete            string // what is not complete yet: "deployment D to become ready: …"
	TimedOut              string // what has not been complete for longer than the timeout
	AwaitedVersions       string // which versions whoever installs it has yet to serve
	UnavailableAPIService string // which owned APIService is not available, and why
	Unhealthy             string // what broke after it was complete
	Reinstall             bool   // a Deployment that exists is being changed

	NotUpgradeable string // what the operator says that does not want to be replaced
	NotReady       string // why a replaced version cannot be replaced yet
	ReplacedBy     string // the version that replaces this one
	FailForward    bool   // a failed version may be replaced
}
