package v1alpha1

// The other providers.
const (
	// ProviderCertManager is an issuer of cert-manager.
	ProviderCertManager CertificateProvider = "cert-manager"
	// ProviderServiceCA is OpenShift's service-ca.
	ProviderServiceCA CertificateProvider = "service-ca"
	// ProviderNone is whatever the administrator's annotations tell: the manager copies
	// them, and keeps its hands off certificates and caBundles.
	ProviderNone CertificateProvider = "none"
)
