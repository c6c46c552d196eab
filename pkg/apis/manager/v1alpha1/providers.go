package v1alpha1

// CertificateProvider names who issues serving certificates.
type CertificateProvider string

// The providers.
const (
	// ProviderManager is the manager itself, which signs each generation with a CA of its own whose
	// key it discards.
	ProviderManager CertificateProvider = "manager"
	// ProviderCertManager is an issuer of cert-manager.
	ProviderCertManager CertificateProvider = "cert-manager"
	// ProviderServiceCA is OpenShift's service-ca.
	ProviderServiceCA CertificateProvider = "service-ca"
	// ProviderNone means that the administrator issues certificates: the manager copies the annotations
	// of the administrator, and does not modify certificates and caBundles.
	ProviderNone CertificateProvider = "none"
)

// CertificateProviders returns all providers, the default first.
func CertificateProviders() []CertificateProvider {
	return []CertificateProvider{ProviderManager, ProviderCertManager, ProviderServiceCA, ProviderNone}
}
