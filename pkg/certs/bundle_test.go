package certs

import (
	"encoding/pem"
	"slices"
	"testing"
)

func TestParsePassesOverWhatIsNoCertificate(t *testing.T) {
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
