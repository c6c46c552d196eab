package doctor

// Level says how bad a finding is.
type Level string

const (
	// Error refuses requests now.
	Error Level = "Error"
	// Warning leaves requests unchecked, or will refuse some when something else happens.
	Warning Level = "Warning"
	// Unknown could not be found out.
	Unknown Level = "Unknown"
)

// The codes of findings, besides those of a Reach and of a probe.
const (
	OwnerGone           = "OwnerGone"
	CertificateEndsSoon = "CertificateEndsSoon"
	SomePodsFail        = "SomePodsFail"
	NotAsked            = "NotAsked"
	HeadlessService     = "HeadlessService"
	NodeLocalService    = "NodeLocalService"
	WorkloadsUnread     = "WorkloadsUnread"
	Deadlock            = "Deadlock"
	PossibleDeadlock    = "PossibleDeadlock"
	ControlPlaneBlocked = "ControlPlaneBlocked"
	ControlPlaneDepends = "ControlPlaneDepends"
)

// Finding is something that a person should know of the webhooks of a cluster.
type Finding struct {
	Level Level  `json:"level"`
	Code  string `json:"code"`
	// Webhooks are those that it is about, as people name them.
	Webhooks []string `json:"webhooks"`
	// Message says what is so, and what comes of it.
	Message string `json:"message"`
	// WayOut says what to do.
	WayOut string `json:"wayOut"`
}
