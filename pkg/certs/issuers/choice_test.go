package issuers

import (
	"testing"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestChoiceOf(t *testing.T) {
	const provider, issuer = wellknown.AnnotationCertificateProvider, wellknown.AnnotationCertManagerIssuer
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        Choice
		wrong       string // what the error reports
	}{
		"no annotation": {want: Choice{Provider: managerv1alpha1.ProviderManager}},
		"another annotation": {
			annotations: map[string]string{"cert-manager.io/inject-ca-from": "a/b"},
			want:        Choice{Provider: managerv1alpha1.ProviderManager},
		},
		"the manager":  {annotations: map[string]string{provider: "manager"}, want: Choice{Provider: managerv1alpha1.ProviderManager}},
		"service-ca":   {annotations: map[string]string{provider: "service-ca"}, want: Choice{Provider: managerv1alpha1.ProviderServiceCA}},
		"none":         {annotations: map[string]string{provider: "none"}, want: Choice{Provider: managerv1alpha1.ProviderNone}},
		"cert-manager": {annotations: map[string]string{provider: "cert-manager"}, want: Choice{Provider: managerv1alpha1.ProviderCertManager}},
		"an issuer of the namespace": {
			annotations: map[string]string{provider: "cert-manager", issuer: "Issuer/internal"},
			want:        Choice{managerv1alpha1.ProviderCertManager, Issuer{"Issuer", "cert-manager.io", "internal"}},
		},
		"an issuer of the cluster": {
			annotations: map[string]string{provider: "cert-manager", issuer: "ClusterIssuer/corporate.example"},
			want:        Choice{managerv1alpha1.ProviderCertManager, Issuer{"ClusterIssuer", "cert-manager.io", "corporate.example"}},
		},
		"an external issuer": {
			annotations: map[string]string{provider: "cert-manager", issuer: "AWSPCAIssuer.awspca.cert-manager.io/ca"},
			want:        Choice{managerv1alpha1.ProviderCertManager, Issuer{"AWSPCAIssuer", "awspca.cert-manager.io", "ca"}},
		},
		"an unknown provider":            {annotations: map[string]string{provider: "vault"}, wrong: `is "vault": use manager`},
		"an empty provider":              {annotations: map[string]string{provider: ""}, wrong: `is "": use manager`},
		"an issuer without cert-manager": {annotations: map[string]string{issuer: "Issuer/internal"}, wrong: "add " + provider},
		"an issuer without kind":         {annotations: map[string]string{provider: "cert-manager", issuer: "internal"}, wrong: "use Issuer/NAME"},
		"an issuer without name":         {annotations: map[string]string{provider: "cert-manager", issuer: "Issuer/"}, wrong: "use Issuer/NAME"},
		"a kind that cert-manager lacks": {annotations: map[string]string{provider: "cert-manager", issuer: "Vault/internal"}, wrong: "use Issuer/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ChoiceOf(tc.annotations)
			installtest.Same(t, "choice", tc.want, got)
			installtest.Error(t, tc.wrong, err)
		})
	}
}
