package issuers

import (
	"fmt"
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Choice is the provider that an administrator selected for an operator.
type Choice struct {
	Provider managerv1alpha1.CertificateProvider
	// Issuer signs if the provider is cert-manager. Without it, a CA is created.
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

// ChoiceOf reads a Subscription. After an error, which names the valid values, the previous provider stays.
func ChoiceOf(annotations map[string]string) (Choice, error) {
	choice := Choice{Provider: Providers[0].Name}
	if value, given := annotations[wellknown.AnnotationCertificateProvider]; given {
		choice.Provider = managerv1alpha1.CertificateProvider(value)
	}
	provider := find(choice.Provider)
	if provider.Name == "" {
		return Choice{}, fmt.Errorf("%s is %q: use %s", wellknown.AnnotationCertificateProvider, choice.Provider, Alternatives())
	}
	value, given := annotations[wellknown.AnnotationCertManagerIssuer]
	if !given {
		return choice, nil
	}
	if !provider.SelectsIssuer {
		return Choice{}, fmt.Errorf("%s is for cert-manager's certificates: add %s: cert-manager, or remove it", wellknown.AnnotationCertManagerIssuer, wellknown.AnnotationCertificateProvider)
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

func (i Issuer) unknown() bool {
	return i.Group == certManagerGroup && i.Kind != "Issuer" && i.Kind != "ClusterIssuer"
}

// Describe returns the choice as text for messages.
func (c Choice) Describe() string {
	if c.Issuer == (Issuer{}) {
		return string(c.Provider)
	}
	return fmt.Sprintf("%s (%s)", c.Provider, c.Issuer)
}

func (i Issuer) String() string { return i.Kind + " " + i.Name }
