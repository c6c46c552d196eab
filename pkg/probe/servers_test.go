package probe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const serverName = "manager-service.shop.svc"

// authority is a CA of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	ca := authority{key: newKey(t)}
	ca.certificate = sign(t, &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-48 * time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, authority{}, ca.key)
	return ca
}

func (a authority) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue signs a serving certificate, after the changes that a test makes to it.
func (a authority) issue(t *testing.T, changes ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		DNSNames:    []string{serverName},
		NotBefore:   time.Now().Add(-24 * time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, change := range changes {
		change(template)
	}
	key := newKey(t)
	leaf := sign(t, template, a, key)
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

// sign issues a certificate; without an issuer it is self-signed.
func sign(t *testing.T, template *x509.Certificate, issuer authority, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if issuer.key == nil {
		issuer = authority{certificate: template, key: key}
	}
	der := installtest.OrPanic(x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key))
	return installtest.OrPanic(x509.ParseCertificate(der))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

func listen(t *testing.T, host string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil && host == "::1" {
		t.Fatalf("this machine has no loopback address of IPv6, and what is probed may have no other: give it one (sysctl net.ipv6.conf.lo.disable_ipv6=0, in a container --sysctl): %v", err)
	}
	installtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// serveTLS answers handshakes and then waits for the client to go. What the client
// sends after its handshake is returned on the channel.
func serveTLS(t *testing.T, host string, config *tls.Config) (address string, sent <-chan []byte) {
	t.Helper()
	l := listen(t, host)
	received := make(chan []byte, 16)
	go eachConnection(l, func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if conn.HandshakeContext(t.Context()) == nil {
			data, _ := io.ReadAll(conn)
			received <- data
		}
	})
	return l.Addr().String(), received
}

func serveHTTP(t *testing.T) string {
	t.Helper()
	l := listen(t, "127.0.0.1")
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }() // It ends with its listener.
	return l.Addr().String()
}

// serveRaw hands each connection to a function and closes it after.
func serveRaw(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	l := listen(t, "127.0.0.1")
	go eachConnection(l, func(conn net.Conn) { serve(conn.(*net.TCPConn)) })
	return l.Addr().String()
}

func eachConnection(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			serve(conn)
			_ = conn.Close()
		}()
	}
}

// closedPort is an address where nothing listens, and no program can until the test ends: a client has it.
func closedPort(t *testing.T) string {
	t.Helper()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", listen(t, "127.0.0.1").Addr().String())
	installtest.Must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client.LocalAddr().String()
}
