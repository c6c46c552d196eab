// Package vocabulary holds the words that the manager writes into a cluster and
// reads from it: labels, annotations, finalizers, keys, mount points. They are
// an interface: bundles, scripts and dashboards rely on each of them.
package vocabulary

// FieldManager is the name under which the manager owns fields in server-side apply,
// and the name that managedFields shows for its other writes.
const FieldManager = "olm-webhook-manager"

// FieldManagerKeep is the name under which it makes definitions owners of what converts them.
const FieldManagerKeep = "olm-webhook-manager-keep"

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
	// LabelWebhookHash changes whenever the CSV wants a different webhook, or owned APIService.
	LabelWebhookHash = "olm.webhook-description-hash"
)

// LabelAutomanaged, on an APIService, is AutomanagedBuiltIn where the API server makes it of
// what it serves itself from the beginning, and not of a CustomResourceDefinition.
const (
	LabelAutomanaged   = "kube-aggregator.kubernetes.io/automanaged"
	AutomanagedBuiltIn = "onstart"
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

// AnnotationGeneration, on a Secret, is the number of the certificate generation in
// tls.crt, counted from 1; on a registration, and on a CustomResourceDefinition with a
// conversion, of the newest that its caBundle trusts.
const AnnotationGeneration = "olm-webhook-manager.io/certificate-generation"

// Annotations on a serving certificate's Secret, which holds the whole state of a
// rotation. Instants are in RFC 3339 form.
const (
	// AnnotationLeaf is the hex SHA-256 of the DER form of the certificate that the
	// manager put into tls.crt: another one there is somebody else's.
	AnnotationLeaf = "olm-webhook-manager.io/certificate-leaf"
	// AnnotationIssuer is who issued the certificate in tls.crt.
	AnnotationIssuer = "olm-webhook-manager.io/certificate-issuer"
	// AnnotationUpdated is when the certificate in tls.crt was put there; it stays as long as
	// that does.
	AnnotationUpdated = "olm-webhook-manager.io/certificate-updated"
	// AnnotationNextGeneration and AnnotationNextIssuer are the same as those without
	// "next", for the generation under the keys that begin with "next-".
	AnnotationNextGeneration = "olm-webhook-manager.io/certificate-next-generation"
	AnnotationNextIssuer     = "olm-webhook-manager.io/certificate-next-issuer"
	// AnnotationBegun is when the next generation was stored.
	AnnotationBegun = "olm-webhook-manager.io/certificate-begun"
	// AnnotationTrusted is when all registrations were seen to trust the next generation,
	// and a hash of what they were then.
	AnnotationTrusted = "olm-webhook-manager.io/certificate-trusted"
	// AnnotationPromoted is when the certificate in tls.crt replaced the one before. It is
	// gone once all pods were seen to serve it.
	AnnotationPromoted = "olm-webhook-manager.io/certificate-promoted"
	// AnnotationPreviousEnds is until when pods may go on serving an earlier certificate.
	AnnotationPreviousEnds = "olm-webhook-manager.io/certificate-previous-ends"
	// AnnotationOrderDone is the last value of AnnotationRotate that was followed.
	AnnotationOrderDone = "olm-webhook-manager.io/rotation-ordered"
	// AnnotationDueDone is the last status.certsRotateAt by which somebody ordered a rotation
	// that was followed: pods are restarted with it, as they are by OLM v0.
	AnnotationDueDone = "olm-webhook-manager.io/rotation-due"
	// AnnotationUnusableCA is the hex SHA-256 of a CA that another client put into the Secret and
	// that has expired: pods are restarted for the certificate that follows, as by OLM v0.
	AnnotationUnusableCA = "olm-webhook-manager.io/certificate-unusable-ca"
	// AnnotationRecreated is the value of AnnotationLeaf for which the Secret was last created
	// again because it was immutable.
	AnnotationRecreated = "olm-webhook-manager.io/certificate-recreated"
)

// AnnotationRotate, on a ClusterServiceVersion, orders a rotation of its serving
// certificates: one for each new value. A value that begins with RotateCompromised
// withdraws the trust in all earlier CAs at once.
const (
	AnnotationRotate  = "olm-webhook-manager.io/rotate-certificates"
	RotateCompromised = "compromised"
)

// AnnotationNudge, on a pod, is when its kubelet was last made to look at the pod's
// volumes: it does whenever the pod changes, and else about once a minute.
const AnnotationNudge = "olm-webhook-manager.io/certificate-nudge"

// AnnotationRestartedFor, on a pod template, is the generation for which the pods were
// restarted, because they did not take it up by themselves.
const AnnotationRestartedFor = "olm-webhook-manager.io/restarted-for-generation"

// AnnotationReplicas, on a Deployment, is the number of replicas that the
// ClusterServiceVersion asked for when the Deployment was last written.
const AnnotationReplicas = "olm-webhook-manager.io/replicas"

// AnnotationUncalled, on a Deployment that its ClusterServiceVersion lists no more, is "generation N since
// TIME": the generation of the ClusterServiceVersion that left it out, and since when no registration calls it.
const AnnotationUncalled = "olm-webhook-manager.io/uncalled"

// AnnotationKeptPorts, on a Service, lists in JSON the ports that API servers call and that an edit of
// the ClusterServiceVersion removes or points elsewhere, and the new ports that are not called yet.
const AnnotationKeptPorts = "olm-webhook-manager.io/kept-ports"

// AnnotationForceConversion, "true" on a ClusterServiceVersion, ends its conversion
// webhooks on uninstall even where objects may lose fields by it.
const AnnotationForceConversion = "olm-webhook-manager.io/force-conversion-removal"

// AnnotationProbe, ProbeHandshake on a ClusterServiceVersion, has its webhooks registered without
// a review: its servers answer one that they do not expect with an error.
const (
	AnnotationProbe = "olm-webhook-manager.io/probe"
	ProbeHandshake  = "handshake"
)

// AnnotationMatchConditions, on a ClusterServiceVersion, are matchConditions of its author's:
// the generateName of each webhook with a list of name and expression, in YAML or JSON.
const AnnotationMatchConditions = "olm-webhook-manager.io/match-conditions"

// AnnotationPropagated, on a CustomResourceDefinition, names the annotations that it bears
// because of the config of a Subscription, separated by commas.
const AnnotationPropagated = "olm-webhook-manager.io/propagated-annotations"

// AnnotationDisabledWebhooks, in the config of a Subscription, names webhooks of its
// operator that are to be out of service: their generateNames, separated by commas.
const AnnotationDisabledWebhooks = "olm-webhook-manager.io/disabled-webhooks"

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
	// The keys of the next generation, which pods do not mount.
	KeyNextCertificate = "next-tls.crt"
	KeyNextKey         = "next-tls.key"
	KeyNextCA          = "next-ca.crt"
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
