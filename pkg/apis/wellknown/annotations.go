package wellknown

// AnnotationPrefix is the prefix of this project's annotations. The manager never copies
// annotations with it to derived objects.
const AnnotationPrefix = "olm-webhook-manager.io/"

// Annotations on ClusterServiceVersions that record the scope of their OperatorGroup.
const (
	// AnnotationOperatorGroup, on a ClusterServiceVersion, is the name of its OperatorGroup.
	AnnotationOperatorGroup = "olm.operatorGroup"
	// AnnotationOperatorNamespace, on a ClusterServiceVersion, is the namespace of its OperatorGroup.
	AnnotationOperatorNamespace = "olm.operatorNamespace"
	// AnnotationTargetNamespaces, on a ClusterServiceVersion, lists the namespaces that its
	// OperatorGroup targets, separated by commas. It is empty for all namespaces.
	AnnotationTargetNamespaces = "olm.targetNamespaces"
)

// Annotations that administrators and authors set on a ClusterServiceVersion.
const (
	// AnnotationRotate, on a ClusterServiceVersion, requests a rotation of the serving certificates,
	// one for each new value.
	// A value that begins with RotateCompromised also ends the trust in all previous CAs at once.
	AnnotationRotate  = "olm-webhook-manager.io/rotate-certificates"
	RotateCompromised = "compromised"

	// AnnotationForceConversion, on a ClusterServiceVersion, if "true", ends conversions even where
	// objects may lose fields: its own when it is deleted, and those of the version that it replaces if
	// it does not declare them.
	AnnotationForceConversion = "olm-webhook-manager.io/force-conversion-removal"

	// AnnotationProbe, on a ClusterServiceVersion, if ProbeHandshake, registers webhooks without a test review. It is for
	// servers that answer an unexpected review with an error.
	AnnotationProbe = "olm-webhook-manager.io/probe"
	ProbeHandshake  = "handshake"

	// AnnotationMatchConditions contains the author's matchConditions: a map from the generateName
	// of a webhook to a list of name and expression, in YAML or JSON.
	AnnotationMatchConditions = "olm-webhook-manager.io/match-conditions"

	// AnnotationAwaitedVersions lists versions of CustomResourceDefinitions, as definition/version
	// separated by commas. The installing client serves them after the conversion webhook is live,
	// so until then they are no requirement.
	AnnotationAwaitedVersions = "olm-webhook-manager.io/awaited-versions"
)

// AnnotationDisabledWebhooks, in the config of a Subscription, lists the generateNames of webhooks
// that the manager must not register, separated by commas.
const AnnotationDisabledWebhooks = "olm-webhook-manager.io/disabled-webhooks"

// Annotations that the manager writes on derived objects.
const (
	// AnnotationReplicas, on a Deployment, is the number of replicas in the ClusterServiceVersion
	// when the Deployment was last written.
	AnnotationReplicas = "olm-webhook-manager.io/replicas"

	// AnnotationUnused, on a Deployment that its ClusterServiceVersion no longer lists, is
	// "generation N since TIME": the generation of the ClusterServiceVersion that removed it, and
	// since when no registration calls it. It is "called again" if another client registered it since.
	AnnotationUnused = "olm-webhook-manager.io/unused"

	// AnnotationKeptPorts, on a Service, lists in JSON the ports that API servers call and that an
	// edit of the ClusterServiceVersion removes or redirects, and the new ports that are not called yet.
	AnnotationKeptPorts = "olm-webhook-manager.io/kept-ports"

	// AnnotationPropagated, on a CustomResourceDefinition, lists the annotations that come from the
	// config of a Subscription, separated by commas.
	AnnotationPropagated = "olm-webhook-manager.io/propagated-annotations"
)

// AnnotationCopiedState, on a copy of a ClusterServiceVersion that the manager wrote, identifies the
// state of the original that was copied. It is two hashes: of spec and metadata, and of the status.
const AnnotationCopiedState = "olm-webhook-manager.io/copied-state"

// AnnotationInstallation, on an object that bundle install created, is the installation as
// NAMESPACE/PACKAGE: the operator's namespace and the bundle's package. The command removes an object
// only if both this annotation and the record of the installation list it.
const AnnotationInstallation = "olm-webhook-manager.io/installation"

// AnnotationCreatedBy, on an OperatorGroup or a Subscription, is CreatedByBundle if bundle install or
// bundle render wrote the object. It is informational. The record of an installation decides what is
// removed.
const (
	AnnotationCreatedBy = "olm-webhook-manager.io/created-by"
	CreatedByBundle     = "bundle"
)

// AnnotationInstalledAlongsidePrefix begins annotations of a CustomResourceDefinition. OLM's
// catalog-operator writes one for each ClusterServiceVersion that it installed the definition with.
// The value is NAMESPACE/NAME.
const AnnotationInstalledAlongsidePrefix = "operatorframework.io/installed-alongside-"
