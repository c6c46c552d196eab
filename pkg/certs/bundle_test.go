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
