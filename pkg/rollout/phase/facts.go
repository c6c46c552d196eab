package phase

// Facts determine the next phase of a ClusterServiceVersion. The texts are empty if they do not apply.
type Facts struct {
	Details               string // the command that shows all messages in full; empty without one
	Failure               *Phase // no scope, an invalid ClusterServiceVersion, or a conflict; see isTerminal
	Unmet                 string // requirements that are not met
	Refused               string // what the API server refuses
	Incomplete            string // what is not complete yet: "deployment D to become ready: …"
	TimedOut              string // what is not complete after the timeout
	AwaitedVersions       string // versions of definitions that must be added
	UnavailableAPIService string // an owned APIService, and why it is not available
	Unhealthy             string // what failed after it was complete
	Reinstall             bool   // a Deployment that exists is being changed

	NotUpgradeable string // the operator's message that it must not be replaced
	NotReady       string // why a replaced version cannot be replaced yet
	ReplacedBy     string // the version that replaces this one
	FailForward    bool   // a failed version may be replaced
}
