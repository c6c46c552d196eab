package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func TestIssuedCertificates(t *testing.T) {
	authority, err := NewAuthority("test-ca")
	must(t, err)
	server, err := authority.Server("server", "127.0.0.1", "kubernetes.default.svc")
	must(t, err)
	client, err := authority.Client("admin", "system:masters")
	must(t, err)
	trust := x509.NewCertPool()
	if !trust.AppendCertsFromPEM(authority.Cert) {
		t.Fatal("the authority's certificate is not in PEM")
	}
	for name, tc := range map[string]struct {
		pair    Pair
		options x509.VerifyOptions
		valid   bool
	}{
		"a server by its address": {server, x509.VerifyOptions{DNSName: "127.0.0.1"}, true},
		"a server by its name":    {server, x509.VerifyOptions{DNSName: "kubernetes.default.svc"}, true},
		"a server by another":     {server, x509.VerifyOptions{DNSName: "kubernetes.default"}, false},
		"a client as a client":    {client, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true},
		"a client as a server":    {client, x509.VerifyOptions{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tls.X509KeyPair(tc.pair.Cert, tc.pair.Key); err != nil {
				t.Fatalf("certificate and key do not belong together: %v", err)
			}
			cert, err := parse(tc.pair.Cert)
			must(t, err)
			tc.options.Roots = trust
			if _, err := cert.Verify(tc.options); (err == nil) != tc.valid {
				t.Errorf("Verify = %v, want valid: %v", err, tc.valid)
			}
		})
	}
	cert, err := parse(client.Cert)
	must(t, err)
	if got := cert.Subject; got.CommonName != "admin" || len(got.Organization) != 1 || got.Organization[0] != "system:masters" {
		t.Errorf("the client is %v, want admin of system:masters", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
