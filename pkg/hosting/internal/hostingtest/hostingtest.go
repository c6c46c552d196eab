// Package hostingtest has helpers for tests of servers.
package hostingtest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

// Same fails the test if two values differ.
func Same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error fails the test unless err contains a text. An empty text stands for no error.
func Error(t testing.TB, want string, err error) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// Eventually waits until a condition holds. The limit is long, because a busy machine is slow.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(2 * time.Minute); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// ServeTLS serves handler like the webhooks' port, and returns its address.
func ServeTLS(t *testing.T, handler http.Handler) string {
	t.Helper()
	pair, err := certificates.SelfSigned([]string{"127.0.0.1"}, "", time.Now(), time.Hour)
	Must(t, err)
	content, err := dynamiccertificates.NewStaticCertKeyContent("test", pair.Cert, pair.Key)
	Must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() {
		served <- (&serving.Server{Listener: listener, Certificate: content}).Serve(ctx, handler, time.Second)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// DialTLS connects to an address and trusts any certificate.
func DialTLS(t *testing.T, address string) *tls.Conn {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // G402: a client of tests
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn.(*tls.Conn)
}
