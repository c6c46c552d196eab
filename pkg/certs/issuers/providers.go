package issuers

import (
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Provider describes who issues the serving certificates of an operator.
type Provider struct {
	Name managerv1alpha1.CertificateProvider
	// Controller reports whether another controller issues the certificates and reissues them on request.
	Controller bool
	// SelectsIssuer reports whether the administrator can name an issuer.
	SelectsIssuer bool
}

// Providers is the list of all providers, the default first. To add one: add its name to
// managerv1alpha1.CertificateProvider and a line here, describe what it has issued as a Finding (as
// FromServiceCA does), and request its certificates in pkg/controller/decide.
var Providers = []Provider{
	{Name: managerv1alpha1.ProviderManager},
	{Name: managerv1alpha1.ProviderCertManager, Controller: true, SelectsIssuer: true},
	{Name: managerv1alpha1.ProviderServiceCA, Controller: true},
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
	return p != nil && p.Controller
}

// find returns a provider by name; nil if there is none.
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
