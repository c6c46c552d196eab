package issuers

import (
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Provider describes who issues the serving certificates of an operator.
type Provider struct {
	Name managerv1alpha1.CertificateProvider
	// SelectsIssuer reports whether the administrator can name an issuer.
	SelectsIssuer bool
}

// Providers is the list of all providers, the default first. To add one: add its name to
// managerv1alpha1.CertificateProvider and a line here, describe what it has issued as a Finding (as
// FromServiceCA does), and request its certificates in pkg/controller/decide.
var Providers = []Provider{
	{Name: managerv1alpha1.ProviderManager},
	{Name: managerv1alpha1.ProviderCertManager, SelectsIssuer: true},
	{Name: managerv1alpha1.ProviderServiceCA},
	{Name: managerv1alpha1.ProviderNone},
}

// Names returns the names of all providers.
func Names() []string {
	var all []string
	for _, p := range Providers {
		all = append(all, string(p.Name))
	}
	return all
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

// alternatives returns the names as a message lists them.
func alternatives() string {
	all := Names()
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
