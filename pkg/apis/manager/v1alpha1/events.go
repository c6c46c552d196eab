package v1alpha1

// Reasons of events on a ClusterServiceVersion. Conditions of a WebhookRollout and phases of the
// ClusterServiceVersion have events, too: their reason is that of the condition or of the phase.
const (
	// EventWebhookRegistered means that a webhook is registered and serves.
	EventWebhookRegistered = "WebhookRegistered"
	// EventWebhookUnreachable means that a registered webhook has no endpoint that can answer.
	EventWebhookUnreachable = "WebhookUnreachable"
	// EventWebhookUnregistered means that a webhook was registered and is not registered any more.
	EventWebhookUnregistered = "WebhookUnregistered"
	// EventWebhookBlocked means that a webhook cannot be registered until a person changes something.
	EventWebhookBlocked = "WebhookBlocked"
	// EventWebhookDisabled means that an annotation of the Subscription disables a webhook.
	EventWebhookDisabled = "WebhookDisabled"
	// EventWebhookIntercepts lists the requests that a webhook intercepts. It is a warning if the
	// OperatorGroup does not limit them, because the objects have no namespace.
	EventWebhookIntercepts = "WebhookIntercepts"
	// EventWebhookOpened means that requests pass that a webhook does not answer, because no endpoint
	// answers for so long as the administrator requires for that.
	EventWebhookOpened = "WebhookOpened"
	// EventWebhookClosed means that no request passes any more that a webhook does not answer. It is a
	// warning if its endpoints are not known to serve.
	EventWebhookClosed = "WebhookClosed"
	// EventSelfDeadlockPrevented lists the requests of the cluster's own components that bypass a
	// webhook, because its pods need them to start.
	EventSelfDeadlockPrevented = "SelfDeadlockPrevented"
	// EventConversionInterrupted means that another client removed a conversion webhook from a
	// CustomResourceDefinition, and that the manager restored it.
	EventConversionInterrupted = "ConversionInterrupted"
	// EventVersionServed means that a CustomResourceDefinition serves a version, or stores objects in
	// it, that its policy held until the conversion webhook was live.
	EventVersionServed = "VersionServed"
	// EventVersionServedEarly means that such a version is served before the conversion webhook is live,
	// because its pods may wait for the version. Requests in the version fail until then.
	EventVersionServedEarly = "VersionServedEarly"

	// EventInstallPlanBlocked, on a Subscription, means that its InstallPlan cannot continue because API
	// servers cannot call a webhook.
	EventInstallPlanBlocked = "InstallPlanBlocked"

	// EventAPIServiceRegistered means that an owned APIService is registered and available.
	EventAPIServiceRegistered = "APIServiceRegistered"
	// EventAPIServiceUnreachable means that a registered APIService is not available.
	EventAPIServiceUnreachable = "APIServiceUnreachable"
	// EventAPIServiceUnregistered means that an APIService was registered and is not registered any
	// more.
	EventAPIServiceUnregistered = "APIServiceUnregistered"
	// EventAPIServiceBlocked means that an APIService cannot be registered until a person changes
	// something.
	EventAPIServiceBlocked = "APIServiceBlocked"

	// EventCertificateDistributing means that registrations are made to trust the next CA.
	EventCertificateDistributing = "CertificateDistributing"
	// EventCertificatePromoting means that pods are given the next certificate.
	EventCertificatePromoting = "CertificatePromoting"
	// EventCertificateRetiring means that previous CAs are removed from registrations.
	EventCertificateRetiring = "CertificateRetiring"
	// EventCertificateStable means that a rotation is over.
	EventCertificateStable = "CertificateStable"
	// EventCertificateBootstrap means that a Deployment has lost its certificate, and that no
	// registration trusts one.
	EventCertificateBootstrap = "CertificateBootstrap"
	// EventRegistrationLost means that a registration cannot be written and does not trust the
	// certificate that pods are given: its calls fail.
	EventRegistrationLost = "RegistrationLost"

	// EventNotMarked means that the finalizer or the scope annotations of the ClusterServiceVersion
	// cannot be written. Nothing is installed.
	EventNotMarked = "NotMarked"
	// EventMarksOfCopyRemoved means that another client gave the ClusterServiceVersion the label or the
	// annotation of a copy, by which managers ignore it, and that the manager removed them.
	EventMarksOfCopyRemoved = "MarksOfCopyRemoved"
	// EventCopyRefused means that the API server refused the copy of the ClusterServiceVersion in a
	// target namespace.
	EventCopyRefused = "CopyRefused"
	// EventPermissionsNotLifted means that --lift-roles could not grant a Role in a target namespace.
	EventPermissionsNotLifted = "PermissionsNotLifted"
	// EventComponentNotLabelled means that --with-olm cannot label an object of an operator, so that
	// the Operator does not refer to it.
	EventComponentNotLabelled = "ComponentNotLabelled"
	// EventClusterRoleNotWritten means that --with-olm does not create or repair a ClusterRole for the
	// users of an OperatorGroup or of a provided API.
	EventClusterRoleNotWritten = "ClusterRoleNotWritten"
	// EventLabelledObjectsLeft lists the roles and bindings that were not deleted with a
	// ClusterServiceVersion, because only their labels name it as the owner.
	EventLabelledObjectsLeft = "LabelledObjectsLeft"
)
