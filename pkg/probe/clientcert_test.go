package probe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// A server that authenticates its callers by a client certificate serves, as one that answers 401.
func TestClientCertificates(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	for name, tc := range map[string]struct {
		change func(*tls.Config)
		trust  []byte
		want   Reason
	}{
		"it requires one":              {func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, ours.bundle(), Serving},
		"it verifies one":              {func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }, ours.bundle(), Serving},
		"it takes one":                 {func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }, ours.bundle(), Serving},
		"its code requires one":        {func(c *tls.Config) { c.ClientAuth, c.VerifyConnection = tls.RequestClientCert, refuseEach }, ours.bundle(), Serving},
		"its code refuses all":         {func(c *tls.Config) { c.VerifyConnection = refuseEach }, ours.bundle(), NoReview},
		"its certificate is another's": {func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, others.bundle(), ForeignCertificate},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			want := tc.want
			if want == NoReview && version == tls.VersionTLS12 {
				want = HandshakeFailed
			}
			t.Run(fmt.Sprintf("%s, %s", name, tls.VersionName(version)), func(t *testing.T) {
				config := &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}, MaxVersion: version}
				tc.change(config)
				target := at(serving(t, config, with(200, isJSON, permitted)))
				target.Call = asked
				got := All(t.Context(), []Target{target}, tc.trust, patience)[0]
				if got.Reason != want || (got.Leaf != "") != (want == Serving) {
					t.Errorf("%s (%v), certificate %q; want %s", got.Reason, got.Err, got.Leaf, want)
				}
			})
		}
	}
}

func refuseEach(tls.ConnectionState) error { return errors.New("no") }

func serving(t *testing.T, config *tls.Config, handler http.HandlerFunc) (address string) {
	t.Helper()
	listener := listen(t, "127.0.0.1")
	server := &http.Server{Handler: handler, TLSConfig: config}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, "", "") }() // It ends with the test.
	return listener.Addr().String()
}
