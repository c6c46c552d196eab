// Package issuers describes what to request from other providers of serving certificates, and what they have
// issued. It decides nothing about trust: package certs treats what they issue as what the manager minted.
package issuers

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Provider describes who issues the serving certificates of an operator.
type Provider struct {
	Name          managerv1alpha1.CertificateProvider
	SelectsIssuer bool
	// issued recognizes the Secrets that the controller of the provider issues; nil if none does.
	issued func(*corev1.Secret) bool
	// CRD exists if the controller is installed; empty if every cluster has the kinds.
	CRD string
	// Kinds are the kinds of the objects that the controller reads. The manager watches all of them.
	Kinds []Kind
}

// Kind is a kind of objects that the controller of a provider reads.
type Kind struct {
	Name     string
	Resource schema.GroupVersionResource
	// OnlyManaged is set if the cache has only objects with the manager's label, and not those of administrators.
	OnlyManaged bool
	// ClusterScoped is set for kinds without a namespace, which the manager reads only. It writes the others.
	ClusterScoped bool
}

// Providers lists all, the default first (docs/developer/certificate-provider.md: how to add one).
var Providers = []Provider{
	{Name: managerv1alpha1.ProviderManager},
	{
		Name: managerv1alpha1.ProviderCertManager, SelectsIssuer: true, issued: issuedByCertManager,
		CRD: Certificates.GroupResource().String(),
		Kinds: []Kind{
			{Name: "Certificate", Resource: Certificates, OnlyManaged: true},
			{Name: "Issuer", Resource: Issuers},
			{Name: "ClusterIssuer", Resource: ClusterIssuers, ClusterScoped: true},
		},
	},
	{
		Name: managerv1alpha1.ProviderServiceCA, issued: issuedByServiceCA,
		Kinds: []Kind{{Name: "ConfigMap", Resource: ConfigMaps, OnlyManaged: true}},
	},
	{Name: managerv1alpha1.ProviderNone},
}

// Names returns the names of all certificate providers.
func Names() []string {
	return lists.Map(Providers, func(p Provider) string { return string(p.Name) })
}

// HasController reports whether a controller other than the manager issues the certificates of a provider.
func HasController(name managerv1alpha1.CertificateProvider) bool {
	return find(name).issued != nil
}

// IssuedBy returns the provider that issued the certificate in a Secret; empty if it is none of these.
func IssuedBy(secret *corev1.Secret) managerv1alpha1.CertificateProvider {
	return lists.First(Providers, func(p Provider) bool { return p.issued != nil && p.issued(secret) }).Name
}

// Kinds returns the kinds of all providers.
func Kinds() []Kind {
	return slices.Concat(lists.Map(Providers, func(p Provider) []Kind { return p.Kinds })...)
}

// KindOf returns the kind of a resource; the zero Kind if no provider has it.
func KindOf(resource schema.GroupVersionResource) Kind {
	return lists.First(Kinds(), func(kind Kind) bool { return kind.Resource == resource })
}

// Resources returns the resources of all kinds by name.
func Resources() map[string]schema.GroupVersionResource {
	all := map[string]schema.GroupVersionResource{}
	for _, kind := range Kinds() {
		all[kind.Name] = kind.Resource
	}
	return all
}

func find(name managerv1alpha1.CertificateProvider) Provider {
	return lists.First(Providers, func(p Provider) bool { return p.Name == name })
}

// Alternatives returns the names as a message lists them.
func Alternatives() string {
	all := Names()
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
