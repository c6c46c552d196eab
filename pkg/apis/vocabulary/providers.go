package vocabulary

// Annotations in the config of a Subscription that choose who issues the serving
// certificates of its operator.
const (
	// AnnotationCertificates is manager, cert-manager, service-ca or none.
	AnnotationCertificates = "olm-webhook-manager.io/certificates"
	// AnnotationChosenIssuer is the issuer of cert-manager that signs, as Kind/name, or as
	// Kind.group/name for one that is not cert-manager's own.
	AnnotationChosenIssuer = "olm-webhook-manager.io/issuer"
)

// What OpenShift's service-ca reads and writes.
const (
	// AnnotationServingCertSecret, on a Service, names the Secret that service-ca issues into.
	AnnotationServingCertSecret = "service.beta.openshift.io/serving-cert-secret-name"
	// AnnotationServingCertError, on a Service, is why service-ca could not issue.
	AnnotationServingCertError = "service.beta.openshift.io/serving-cert-generation-error"
	// AnnotationInjectCABundle, "true" on a ConfigMap, asks service-ca for its CAs.
	AnnotationInjectCABundle = "service.beta.openshift.io/inject-cabundle"
	// KeyServiceCA is where in that ConfigMap they are.
	KeyServiceCA = "service-ca.crt"
)
