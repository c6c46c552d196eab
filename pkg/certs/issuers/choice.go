package issuers

import (
	"fmt"
	"slices"
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Choice is what an administrator chose for the serving certificates of an operator.
type Choice struct {
	Provider managerv1alpha1.CertificateProvider
	// Issuer signs where the provider is cert-manager. The zero value is a CA that is
	// made for each Deployment.
	Issuer Issuer
}

// Issuer names an issuer of cert-manager.
type Issuer struct {
	Kind  string // Issuer and ClusterIssuer are cert-manager's own
	Group string
	Name  string
}

// certManagerGroup is the API group of cert-manager's own issuers.
const certManagerGroup = "cert-manager.io"

// providers are all that can be chosen.
var providers = []managerv1alpha1.CertificateProvider{
	managerv1alpha1.ProviderManager, managerv1alpha1.ProviderCertManager, managerv1alpha1.ProviderServiceCA, managerv1alpha1.ProviderNone,
}

// ChoiceOf reads the annotations in the config of a Subscription. What cannot be read
// is no choice: the error names the annotation and what it may be, and whoever issued
// so far has to go on.
func ChoiceOf(annotations map[string]string) (Choice, error) {
	choice := Choice{Provider: managerv1alpha1.ProviderManager}
	if value, given := annotations[wellknown.AnnotationCertificateProvider]; given {
		choice.Provider = managerv1alpha1.CertificateProvider(value)
	}
	if !slices.Contains(providers, choice.Provider) {
		return Choice{}, fmt.Errorf("%s is %q: use manager, cert-manager, service-ca or none", wellknown.AnnotationCertificateProvider, choice.Provider)
	}
	value, given := annotations[wellknown.AnnotationCertManagerIssuer]
	if !given {
		return choice, nil
	}
	if choice.Provider != managerv1alpha1.ProviderCertManager {
		return Choice{}, fmt.Errorf("%s is for cert-manager's certificates: add %s: cert-manager, or take it away", wellknown.AnnotationCertManagerIssuer, wellknown.AnnotationCertificateProvider)
	}
	kind, name, found := strings.Cut(value, "/")
	kind, group, foreign := strings.Cut(kind, ".")
	if !foreign {
		group = certManagerGroup
	}
	choice.Issuer = Issuer{Kind: kind, Group: group, Name: name}
	if !found || kind == "" || group == "" || name == "" || choice.Issuer.unknown() {
		return Choice{}, fmt.Errorf("%s is %q: use Issuer/NAME, ClusterIssuer/NAME, or KIND.GROUP/NAME for an issuer that is not cert-manager's own", wellknown.AnnotationCertManagerIssuer, value)
	}
	return choice, nil
}

// unknown tells the kinds that cert-manager does not have.
func (i Issuer) unknown() bool {
	return i.Group == certManagerGroup && i.Kind != "Issuer" && i.Kind != "ClusterIssuer"
}

// Describe names the provider, and the issuer that was named to it.
func (c Choice) Describe() string {
	if c.Issuer == (Issuer{}) {
		return string(c.Provider)
	}
	return fmt.Sprintf("%s (%s)", c.Provider, c.Issuer)
}

// String names the issuer for people.
func (i Issuer) String() string { return i.Kind + " " + i.Name }
