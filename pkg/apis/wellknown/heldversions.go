package wellknown

// Annotations on a CustomResourceDefinition that the policy for CustomResourceDefinitions writes when
// it does not let a change through yet. The manager makes the change later and deletes them.
const (
	// AnnotationHeldPrefix begins the names of these annotations.
	AnnotationHeldPrefix = AnnotationPrefix + "held-"
	// AnnotationHeldVersions lists versions, separated by commas, that a client served before a
	// conversion webhook converts to them.
	AnnotationHeldVersions = "olm-webhook-manager.io/held-versions"
	// AnnotationHeldStorageVersion is a held version that the client made the storage version.
	AnnotationHeldStorageVersion = "olm-webhook-manager.io/held-storage-version"
	// AnnotationHeldConversion is a conversion webhook of a bundle that has no CA: namespace, name, port
	// and path of the Service, and the review versions, separated by commas.
	AnnotationHeldConversion = "olm-webhook-manager.io/held-conversion"
	// AnnotationHeldFor lists the ClusterServiceVersions whose InstallPlan made the change, as
	// namespace/name, separated by commas. It is absent after a change of another client.
	AnnotationHeldFor = "olm-webhook-manager.io/held-for"
)

// AnnotationCRDPolicy, on a CustomResourceDefinition, if CRDPolicyOff, excludes it from the policy for
// CustomResourceDefinitions. Administrators set it.
const (
	AnnotationCRDPolicy = "olm-webhook-manager.io/crd-policy"
	CRDPolicyOff        = "off"
)

// AnnotationInstalledAlongside is the prefix of annotations that catalog-operator writes on the
// objects of an InstallPlan. Each value is namespace/name of a ClusterServiceVersion that brings the
// object.
const AnnotationInstalledAlongside = "operatorframework.io/installed-alongside-"
