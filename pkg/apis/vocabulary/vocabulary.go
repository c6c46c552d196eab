// Package vocabulary holds the words that the manager writes into a cluster and
// reads from it: labels, annotations, finalizers, keys, mount points. They are
// an interface: bundles, scripts and dashboards rely on each of them.
package vocabulary

// FieldManager is the name under which the manager owns fields in server-side apply,
// and the name that managedFields shows for its other writes.
const FieldManager = "olm-webhook-manager"

// Labels that OLM v0 sets and its users select by.
const (
	// LabelManaged is "true" on every derived object.
	LabelManaged = "olm.managed"
	// LabelOwner is the name of the owning ClusterServiceVersion (see names.LabelValue).
	LabelOwner = "olm.owner"
	// LabelOwnerNamespace is the namespace of the owning ClusterServiceVersion.
	LabelOwnerNamespace = "olm.owner.namespace"
	// LabelOwnerKind is the kind of the owner.
	LabelOwnerKind = "olm.owner.kind"
	// LabelDeploymentHash changes whenever the CSV wants a different Deployment.
	LabelDeploymentHash = "olm.deployment-spec-hash"
	// LabelWebhookGenerateName is the generateName of the webhook's description.
	LabelWebhookGenerateName = "olm.webhook-description-generate-name"
	// LabelWebhookHash changes whenever the CSV wants a different webhook.
	LabelWebhookHash = "olm.webhook-description-hash"
)

// LabelPod marks the pods of managed Deployments with their ClusterServiceVersion, so that
// the manager watches those pods and no others.
const LabelPod = "olm-webhook-manager.io/csv"

// Annotations on ClusterServiceVersions that tell the scope of their OperatorGroup.
const (
	AnnotationOperatorGroup     = "olm.operatorGroup"
	AnnotationOperatorNamespace = "olm.operatorNamespace"
	AnnotationTargetNamespaces  = "olm.targetNamespaces"
)

// AnnotationCAHash, on a Secret and on a pod template, is the hex SHA-256 of the
// PEM form of the CA certificate in the Secret.
const AnnotationCAHash = "olmcahash"

// AnnotationGeneration, on a Secret, is the number of the certificate generation
// in it, counted from 1.
const AnnotationGeneration = "olm-webhook-manager.io/certificate-generation"

// AnnotationReplicas, on a Deployment, is the number of replicas that the
// ClusterServiceVersion asked for when the Deployment was last written.
const AnnotationReplicas = "olm-webhook-manager.io/replicas"

// AnnotationForceConversion, "true" on a ClusterServiceVersion, ends its conversion
// webhooks on uninstall even where objects may lose fields by it.
const AnnotationForceConversion = "olm-webhook-manager.io/force-conversion-removal"

// OwnAnnotationPrefix begins the annotations that are instructions to the manager.
// They are never copied to derived objects.
const OwnAnnotationPrefix = "olm-webhook-manager.io/"

// FinalizerCSV holds a ClusterServiceVersion until its cluster-scoped objects are gone.
const FinalizerCSV = "operators.coreos.com/csv-cleanup"

// Keys of a serving certificate Secret, besides tls.crt and tls.key.
const (
	// KeyCA holds the CA certificate that signed tls.crt, PEM.
	KeyCA = "ca.crt"
	// KeyOLMCA holds the same under the name that OLM v0 gives it. Despite the name it
	// is no key: the CA's private key is stored nowhere.
	KeyOLMCA = "olmCAKey"
	// KeyPreviousCAs holds the CA certificates of earlier generations that may still be
	// served by a pod, PEM, newest first.
	KeyPreviousCAs = "previous-ca.crt"
)

// Volumes through which every container of a Deployment with webhooks sees its
// serving certificate.
const (
	VolumeWebhookCert    = "webhook-cert"
	MountWebhookCert     = "/tmp/k8s-webhook-server/serving-certs"
	VolumeAPIServiceCert = "apiservice-cert"
	MountAPIServiceCert  = "/apiserver.local.config/certificates"
)

// EnvOperatorConditionName tells an operator the name of its OperatorCondition, which
// is the name of its ClusterServiceVersion.
const EnvOperatorConditionName = "OPERATOR_CONDITION_NAME"
