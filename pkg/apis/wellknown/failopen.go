package wellknown

// Annotations by which an administrator lets webhooks open: while its backend does not answer, a webhook lets requests
// pass. They belong in spec.config.annotations of the Subscription. Those of the ClusterServiceVersion apply only if
// it has no Subscription.
const (
	// AnnotationFailOpenAfter is a duration of at least 30s, as "5m". After its backend has been unreachable for so
	// long, a webhook opens for requests of the group system:nodes, and about objects in the operator's namespace.
	AnnotationFailOpenAfter = "olm-webhook-manager.io/fail-open-after"

	// AnnotationFailOpenAllAfter is a duration, not shorter than fail-open-after. After its backend has been
	// unreachable for so long, a webhook opens for all requests. Without the annotation, it never does.
	AnnotationFailOpenAllAfter = "olm-webhook-manager.io/fail-open-all-after"

	// AnnotationFailOpenFor is how long a webhook may be open in any 24 hours, over all its openings. It is a duration
	// from 1m to 24h, and 1h without the annotation.
	AnnotationFailOpenFor = "olm-webhook-manager.io/fail-open-for"

	// AnnotationFailOpenWebhooks lists the webhooks that may open, separated by commas: the generateName, or
	// generateName/resource.group for the requests about one resource. Without the annotation, each webhook with
	// failurePolicy Fail may open, unless its author set matchConditions or declared it security-critical.
	AnnotationFailOpenWebhooks = "olm-webhook-manager.io/fail-open-webhooks"

	// AnnotationFailOpenSecurityCritical, only in the config of a Subscription, if "true", lets webhooks open that
	// their author declared security-critical.
	AnnotationFailOpenSecurityCritical = "olm-webhook-manager.io/fail-open-security-critical"
)

// AnnotationSecurityCritical, on a ClusterServiceVersion, lists the generateNames of webhooks that must not open,
// separated by commas, or is SecurityCriticalAll.
const (
	AnnotationSecurityCritical = "olm-webhook-manager.io/security-critical"
	SecurityCriticalAll        = "*"
)

// What an open webhook has in its configuration.
const (
	// OpenWebhookPrefix begins the name of the webhook of a configuration that lets requests pass, while the declared
	// webhook of the same configuration does not.
	OpenWebhookPrefix = "fail-open."
	// OpenMatchCondition is the name of the matchCondition that selects or excludes the requests that pass.
	OpenMatchCondition = "olm-webhook-manager.io/fail-open"
)

// AnnotationFailOpen, on a webhook configuration, is the state of the opening: Partly or All. Without the annotation, the
// webhook is closed.
const AnnotationFailOpen = "olm-webhook-manager.io/fail-open"
