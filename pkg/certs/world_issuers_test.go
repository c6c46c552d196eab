package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

const (
	byManager     = managerv1alpha1.ProviderManager
	byCertManager = managerv1alpha1.ProviderCertManager
	byServiceCA   = managerv1alpha1.ProviderServiceCA
	byNobody      = managerv1alpha1.ProviderNone
)

// issuer is another than the manager, with a CA of its own.
type issuer struct {
	signer
	issued object[*Generation]
	shown  time.Time // the state that caches showed last: they do not go back to an earlier one
}

// asOf is what caches show that are late by so much.
func (i *issuer) asOf(at time.Time) *Generation {
	if at.After(i.shown) {
		i.shown = at
	}
	return i.issued.asOf(i.shown)
}

// issue has the chosen provider issue a leaf, under another CA than before if that is
// anew. The manager mints when it decides to, and nobody issues for nobody.
func (w *world) issue(anew bool) {
	if w.provider != byCertManager && w.provider != byServiceCA {
		return
	}
	i := w.issuers[w.provider]
	if i == nil {
		i = &issuer{issued: object[*Generation]{{w.now, nil}}}
		w.issuers[w.provider] = i
	}
	before := i.cert
	if anew || before == nil {
		i.signer = newSigner(w.T, &x509.Certificate{
			Subject:   pkix.Name{CommonName: fmt.Sprintf("%s %d", w.provider, w.random.throw())},
			NotBefore: w.now, NotAfter: w.now.Add(5 * 365 * day),
		})
	}
	g := w.leaf(i)
	if w.provider == byServiceCA && before != nil {
		g.CA = slices.Concat(encode(before), g.CA) // it injects what it signed with before, too
	}
	i.issued = append(i.issued, version[*Generation]{w.now, &g})
	w.tell("%s issues, and its CA is new: %t", w.provider, anew)
	w.changed()
}

func (w *world) leaf(i *issuer) Generation {
	return i.issue(&x509.Certificate{NotBefore: w.now, NotAfter: w.now.Add(90 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// reissue takes away what was issued, and has the issuer issue anew in its own time.
func (w *world) reissue() bool {
	if i := w.issuers[w.provider]; i != nil && i.issued.last() != nil {
		i.issued = append(i.issued, version[*Generation]{w.now, nil})
		w.in(w.upTo(10*time.Second), func() { w.issue(false) })
	}
	return true
}

// choose makes another the provider, which issues in its own time. What the one before
// had issued is taken away.
func (w *world) choose(provider managerv1alpha1.CertificateProvider) {
	delete(w.issuers, w.provider)
	w.tell("%s follows %s", provider, w.provider)
	w.provider = provider
	if provider == byNobody {
		w.issueByHand()
		return
	}
	w.in(w.upTo(30*time.Second), func() {
		if w.issuers[w.provider] == nil {
			w.issue(false)
		}
	})
	w.changed()
}

// chooseAnother is any but the one that there is.
func (w *world) chooseAnother() {
	all := []managerv1alpha1.CertificateProvider{byManager, byCertManager, byServiceCA, byNobody}
	all = slices.DeleteFunc(all, func(p managerv1alpha1.CertificateProvider) bool { return p == w.provider })
	w.choose(all[w.random.below(len(all))])
}
