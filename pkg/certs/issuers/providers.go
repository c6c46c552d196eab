package issuers

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Provider describes who issues the serving certificates of an operator.
type Provider struct {
	Name managerv1alpha1.CertificateProvider
	// SelectsIssuer reports whether the administrator can name an issuer.
	SelectsIssuer bool
	// issued reports whether another controller issued the certificate in a Secret, and reissues it on
	// request; nil for a provider without such a controller.
	issued func(*corev1.Secret) bool
	// Requests are the kinds of the objects with which the manager requests a certificate. It
	// creates, watches and deletes them.
	Requests map[string]schema.GroupVersionResource
}

// Providers is the list of all providers, the default first. ARCHITECTURE.md lists what else a new one
// needs.
var Providers = []Provider{
	{Name: managerv1alpha1.ProviderManager},
	{
		Name: managerv1alpha1.ProviderCertManager, SelectsIssuer: true, issued: issuedByCertManager,
		Requests: map[string]schema.GroupVersionResource{"Certificate": Certificates, "Issuer": Issuers},
	},
	{
		Name: managerv1alpha1.ProviderServiceCA, issued: issuedByServiceCA,
		Requests: map[string]schema.GroupVersionResource{"ConfigMap": ConfigMaps},
	},
	{Name: managerv1alpha1.ProviderNone},
}

// Names returns the names of all certificate providers.
func Names() []string {
	var all []string
	for _, p := range Providers {
		all = append(all, string(p.Name))
	}
	return all
}

// HasController reports whether a controller other than the manager issues the certificates of a provider.
func HasController(name managerv1alpha1.CertificateProvider) bool {
	p := find(name)
	return p != nil && p.issued != nil
}

// IssuedBy returns the provider that issued the certificate in a Secret; empty if it is none of these.
func IssuedBy(secret *corev1.Secret) managerv1alpha1.CertificateProvider {
	for _, p := range Providers {
		if p.issued != nil && p.issued(secret) {
			return p.Name
		}
	}
	return ""
}

// Resources returns the resources of all objects that request certificates, by kind.
func Resources() map[string]schema.GroupVersionResource {
	all := map[string]schema.GroupVersionResource{}
	for _, p := range Providers {
		maps.Copy(all, p.Requests)
	}
	return all
}

func find(name managerv1alpha1.CertificateProvider) *Provider {
	for i, p := range Providers {
		if p.Name == name {
			return &Providers[i]
		}
	}
	return nil
}

// Alternatives returns the names as a message lists them.
func Alternatives() string {
	all := Names()
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
