package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

const (
	byManager     = managerv1alpha1.ProviderManager
	byCertManager = managerv1alpha1.ProviderCertManager
	byServiceCA   = managerv1alpha1.ProviderServiceCA
	byNone        = managerv1alpha1.ProviderNone
)

// issuer is an issuer other than the manager, with its own CA.
type issuer struct {
	signer
	issued object[*Generation]
	shown  time.Time // the last state in caches, which do not return to an earlier one
}

func (i *issuer) stateAt(at time.Time) *Generation {
	if at.After(i.shown) {
		i.shown = at
	}
	return i.issued.stateAt(i.shown)
}

// issuerSet has the chosen provider, and the issuers other than the manager.
type issuerSet struct {
	*apiServer
	provider managerv1alpha1.CertificateProvider
	issuers  map[managerv1alpha1.CertificateProvider]*issuer
}

// issue makes the provider issue a leaf, with newCA under a new CA. The manager mints on its own. None issues nothing.
func (sim *issuerSet) issue(newCA bool) {
	if sim.provider == byManager || sim.provider == byNone {
		return
	}
	i := sim.issuers[sim.provider]
	if i == nil {
		i = &issuer{issued: object[*Generation]{{sim.now, nil}}}
		sim.issuers[sim.provider] = i
	}
	before := i.cert
	if newCA || before == nil {
		i.signer = newSigner(sim.t, &x509.Certificate{
			Subject:   pkix.Name{CommonName: fmt.Sprintf("%s %d", sim.provider, sim.random.next())},
			NotBefore: sim.now, NotAfter: sim.now.Add(5 * 365 * day),
		})
	}
	g := sim.leaf(i)
	if sim.provider == byServiceCA && before != nil {
		g.CA = slices.Concat(encode(before), g.CA) // service-ca injects its previous CA, too
	}
	i.issued = append(i.issued, version[*Generation]{sim.now, &g})
	sim.logf("%s issues, new CA: %t", sim.provider, newCA)
	sim.changed()
}

func (sim *issuerSet) leaf(i *issuer) Generation {
	return i.issue(&x509.Certificate{NotBefore: sim.now, NotAfter: sim.now.Add(90 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// reissue deletes the issued certificate. The issuer issues again after a delay.
func (sim *issuerSet) reissue() bool {
	if i := sim.issuers[sim.provider]; i != nil && i.issued.last() != nil {
		i.issued = append(i.issued, version[*Generation]{sim.now, nil})
		sim.schedule(sim.upTo(10*time.Second), func() { sim.issue(false) })
	}
	return true
}

// chooseProvider changes the provider, which issues after a delay. The certificate of the previous provider is deleted.
func (sim *issuerSet) chooseProvider(provider managerv1alpha1.CertificateProvider) {
	delete(sim.issuers, sim.provider)
	sim.logf("the provider is %s instead of %s", provider, sim.provider)
	sim.provider = provider
	if provider == byNone {
		sim.issueManually()
		return
	}
	sim.schedule(sim.upTo(30*time.Second), func() {
		if sim.issuers[sim.provider] == nil {
			sim.issue(false)
		}
	})
	sim.changed()
}

func (sim *issuerSet) chooseOtherProvider() {
	all := slices.DeleteFunc(managerv1alpha1.CertificateProviders(), func(p managerv1alpha1.CertificateProvider) bool { return p == sim.provider })
	sim.chooseProvider(all[sim.random.intN(len(all))])
}

// issueManually renews the leaf from the current CA, as an administrator does with provider none.
func (sim *issuerSet) issueManually() {
	for _, i := range sim.issuers {
		if last := sim.secret.last(); last != nil && string(last.Data[wellknown.KeyCA]) == string(encode(i.cert)) {
			g := sim.leaf(i)
			sim.editSecret(func(s *corev1.Secret) {
				s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = g.Certificate, g.Key
			})
		}
	}
}
