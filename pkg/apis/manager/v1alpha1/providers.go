package v1alpha1

// The other providers.
const (
	// ProviderCertManager is an issuer of cert-manager.
	ProviderCertManager CertificateProvider = "cert-manager"
	// ProviderServiceCA is OpenShift's service-ca.
	ProviderServiceCA CertificateProvider = "service-ca"
	// ProviderNone means that the administrator issues certificates: the manager copies the annotations
	// of the administrator, and does not modify certificates and caBundles.
	ProviderNone CertificateProvider = "none"
)
