package wellknown

// Labels that OLM v0 sets and its users select by.
const (
	// LabelManaged is "true" on every derived object.
	LabelManaged = "olm.managed"
	// LabelOwner is the name of the owning ClusterServiceVersion. A name that is too long for a label is
	// shortened, and a hash is appended.
	LabelOwner = "olm.owner"
	// LabelOwnerNamespace is the namespace of the owning ClusterServiceVersion.
	LabelOwnerNamespace = "olm.owner.namespace"
	// LabelOwnerKind is the kind of the owner.
	LabelOwnerKind = "olm.owner.kind"
	// LabelDeploymentHash changes whenever the CSV's Deployment changes.
	LabelDeploymentHash = "olm.deployment-spec-hash"
	// LabelWebhookGenerateName is the generateName of the webhook's description.
	LabelWebhookGenerateName = "olm.webhook-description-generate-name"
	// LabelWebhookHash changes whenever the CSV's webhook or owned APIService changes.
	LabelWebhookHash = "olm.webhook-description-hash"
)

// LabelAutomanaged, on an APIService, is AutomanagedBuiltIn if the API server created it at
// startup for an API of its own, and not for a CustomResourceDefinition.
const (
	LabelAutomanaged   = "kube-aggregator.kubernetes.io/automanaged"
	AutomanagedBuiltIn = "onstart"
)

// LabelCSV, on a pod of a managed Deployment, is its ClusterServiceVersion. The manager watches
// pods with this label, and others only for a ClusterServiceVersion with LabelTakeover.
const LabelCSV = "olm-webhook-manager.io/csv"

// LabelCanary, on a canary configuration, is the canary's name. On the object of its dry run, a
// suffix after a dot selects one of its webhooks.
const LabelCanary = "olm-webhook-manager.io/canary"

// LabelGrantedPermissions is "true" on the roles and bindings that grant permissions of a
// ClusterServiceVersion outside its namespace.
const LabelGrantedPermissions = "olm-webhook-manager.io/granted-permissions"

// LabelComponentPrefix begins the label of the components of an Operator. The name of the Operator, which is
// PACKAGE.NAMESPACE, follows. OLM v0 sets it, and its users select by it.
const LabelComponentPrefix = "operators.coreos.com/"
