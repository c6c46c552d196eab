package certs

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
)

func TestParseIgnoresOtherBlocks(t *testing.T) {
	g := minted(t, 1, start)
	der := parse(g.CA)[0].Raw
	bundle := slices.Concat(
		g.Key,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der[:100]}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: der}),
		[]byte("-----BEGIN CERTIFICATE-----\ncut\n"),
		g.CA,
	)
	if found := encode(parse(bundle)...); string(found) != string(g.CA) {
		t.Errorf("the certificates are %q, want the CA alone", found)
	}
}

// The limit on the size of a bundle never removes the CA of the certificate that pods are given.
// The CA of another issuer may be older or newer than all others.
func TestTrustworthyKeepsNeededCAs(t *testing.T) {
	var all []*x509.Certificate
	for number := range int64(maxAuthorities + 6) {
		all = append(all, parse(minted(t, 1+number, start).CA)...)
	}
	for i, needed := range all {
		kept := trustworthy(all, start, needed, all[len(all)/2])
		if len(kept) != maxAuthorities || !slices.ContainsFunc(kept, needed.Equal) || !slices.ContainsFunc(kept, all[len(all)/2].Equal) {
			t.Errorf("CA %d is needed, and %s are kept", i, numbersOf(kept))
		}
	}
}

// Pods may serve another certificate of the CA of an expired one. The CA stays trusted until pods
// serve the next certificate.
func TestCAOfExpiredCertificateStaysTrusted(t *testing.T) {
	leaf := &x509.Certificate{NotBefore: start, NotAfter: after(30 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	first, second := newSigner(t, &x509.Certificate{NotBefore: start, NotAfter: after(365 * day)}).issue(leaf), minted(t, 2, after(40*day))
	distributed := secretWith(t, first).next(second, after(40*day))
	facts := Facts{Secret: distributed.Secret, Registrations: []Registration{trusting(second, first)}, Names: names, Live: true}
	facts.Secret = Decide(facts, DefaultPolicy(), after(40*day)).Write
	if got, want := describe(facts.Secret), "current 2, previous 0, promoted"; got != want {
		t.Fatalf("what is written is %s, want %s", got, want)
	}
	if d := Decide(facts, DefaultPolicy(), after(40*day)); d.Need != NeedEvidence {
		t.Errorf("pods are not probed: it writes %s", describe(d.Write))
	}
}
