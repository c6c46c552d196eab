package certs

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A certificate that pods cannot be given is reported, whether or not pods serve another one.
func TestRejected(t *testing.T) {
	ca := func() signer { return newSigner(t, &x509.Certificate{NotBefore: start, NotAfter: after(365 * day)}) }
	leaf := func(change func(*x509.Certificate)) *x509.Certificate {
		c := &x509.Certificate{NotBefore: start, NotAfter: after(90 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		change(c)
		return c
	}
	good := ca().issue(leaf(func(*x509.Certificate) {}))
	with := func(change func(*Generation)) Generation {
		g := good
		change(&g)
		return g
	}
	for name, test := range map[string]struct {
		issued  Generation
		names   []string
		flaw    Reason
		message string
	}{
		"valid":                           {issued: good},
		"no key":                          {issued: with(func(g *Generation) { g.Key = nil }), flaw: ReasonIncomplete, message: "the key is missing"},
		"no certificate":                  {issued: with(func(g *Generation) { g.Certificate = nil }), flaw: ReasonIncomplete, message: "the certificate is missing"},
		"key of another certificate":      {issued: with(func(g *Generation) { g.Key = minted(t, 1, start).Key }), flaw: ReasonKeyMismatch, message: "no pair"},
		"no CA":                           {issued: with(func(g *Generation) { g.CA = []byte("none") }), flaw: ReasonNoCA, message: "the CA is missing"},
		"another CA":                      {issued: with(func(g *Generation) { g.CA = ca().issue(leaf(func(*x509.Certificate) {})).CA }), flaw: ReasonWrongCA, message: "not signed for serving by the CA next to it"},
		"client certificate":              {issued: ca().issue(leaf(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })), flaw: ReasonWrongUsage, message: "incompatible key usage"},
		"another name":                    {issued: good, names: []string{"other-service.shop.svc"}, flaw: ReasonWrongName, message: "not valid for other-service.shop.svc"},
		"expired":                         {issued: ca().issue(leaf(func(c *x509.Certificate) { c.NotAfter = after(10 * day) })), flaw: ReasonExpired, message: "expired at 2026-03-11T12:00:00Z"},
		"not valid yet":                   {issued: ca().issue(leaf(func(c *x509.Certificate) { c.NotBefore = after(30 * day) }))},
		"not valid yet, another name":     {issued: ca().issue(leaf(func(c *x509.Certificate) { c.NotBefore = after(30 * day) })), names: []string{"other.shop.svc"}, flaw: ReasonWrongName, message: "other.shop.svc"},
		"not valid before its CA expires": {issued: ca().issue(leaf(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = after(400*day), after(500*day) })), flaw: ReasonWrongCA},
	} {
		t.Run(name, func(t *testing.T) {
			if test.names == nil {
				test.names = names
			}
			first := minted(t, 1, start)
			for state, f := range map[string]Facts{
				"pods have no certificate":       {Live: true},
				"pods serve another certificate": {Secret: secretWith(t, first).Secret, Registrations: []Registration{trusting(first)}, Live: true},
			} {
				f.Provider, f.Issued, f.Names, f.SecretMeta = byCertManager, &test.issued, test.names, blank
				got := Decide(f, DefaultPolicy(), after(20*day)).Rejected
				if test.flaw == "" && got != nil || test.flaw != "" && (got == nil || got.Reason != test.flaw || !strings.Contains(got.Message, test.message)) {
					t.Errorf("%s: %+v is rejected, want %q, which reports %q", state, got, test.flaw, test.message)
				}
			}
		})
	}
}

func TestRejectedStatus(t *testing.T) {
	installtest.Same(t, "the rejection status of a valid certificate", nil, (*Rejection)(nil).Status("a", "b", "c", names))
	got := (&Rejection{ReasonExpired, "the certificate expired"}).Status("cert-manager (Issuer x)", "Secret shop/y", "Pods are not given it", []string{"z.shop.svc"})
	const want = "Secret shop/y, issued by cert-manager (Issuer x), cannot be served: the certificate expired. Pods are not given it. " +
		"Correct the issuer so that it issues a valid serving certificate for z.shop.svc, together with its CA"
	if got.Issuer != "cert-manager (Issuer x)" || got.Object != "Secret shop/y" || got.Reason != "Expired" || got.Message != want {
		t.Errorf("the status is %+v", got)
	}
}

// A Secret that another client writes is validated with its CA, if it has one.
func TestValidateSecret(t *testing.T) {
	secret := secretWith(t, minted(t, 1, start))
	for name, test := range map[string]struct {
		secret *corev1.Secret
		at     time.Time
		want   Reason
	}{
		"valid":   {secret.Secret, start, ""},
		"expired": {secret.Secret, after(100 * day), ReasonExpired},
		"no CA":   {secret.edited("ca.crt", nil).edited("olmCAKey", nil).Secret, after(100 * day), ""},
	} {
		var got Reason
		if r := ValidateSecret(test.secret, names, test.at); r != nil {
			got = r.Reason
		}
		installtest.Same(t, name+": the flaw", test.want, got)
	}
}
