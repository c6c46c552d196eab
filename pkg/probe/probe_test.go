package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// patience is for probes that are to end by themselves.
var patience = Options{Parallel: 4, Timeout: time.Minute}

func at(address string) Target {
	return Target{Address: address, ServerName: serverName, What: "pod shop/manager-0"}
}

func probeOne(t *testing.T, address string, trust []byte, o Options) Result {
	t.Helper()
	results := All(t.Context(), []Target{at(address)}, trust, o)
	if len(results) != 1 {
		t.Fatalf("one target has %d results", len(results))
	}
	return results[0]
}

// mustSay checks the reason of a result, and that its message names the target and each of some words.
func mustSay(t *testing.T, got Result, reason Reason, words ...string) {
	t.Helper()
	if got.Reason != reason {
		t.Fatalf("reason is %s, want %s: %v", got.Reason, reason, got.Err)
	}
	if got.Err == nil {
		t.Fatalf("%s has no message", reason)
	}
	installtest.Contains(t, got.Err.Error(), append(words, "pod shop/manager-0 at "+got.Address+" ")...)
}

// mustSayEarly fails unless the words end within the part of a message that a
// ClusterServiceVersion's condition has room for, with the text around it.
func mustSayEarly(t *testing.T, got Result, words string) {
	t.Helper()
	const room = 230
	if at := strings.Index(got.Err.Error(), words); at < 0 || at+len(words) > room {
		t.Errorf("%q does not end within %d bytes of: %v", words, room, got.Err)
	}
}

func TestServing(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	leaf := ours.issue(t)
	certificates := []tls.Certificate{leaf}
	for name, config := range map[string]*tls.Config{
		"TLS 1.3":           {Certificates: certificates, MinVersion: tls.VersionTLS13},
		"TLS 1.2":           {Certificates: certificates, MaxVersion: tls.VersionTLS12},
		"HTTP/1.1 or 2":     {Certificates: certificates, NextProtos: []string{"h2", "http/1.1"}},
		"HTTP/2 only in Go": {Certificates: certificates, NextProtos: []string{"h2"}},
		"certificate chosen by server name": {GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != serverName {
				return nil, fmt.Errorf("asked for %q", hello.ServerName)
			}
			return &leaf, nil
		}},
	} {
		for _, host := range []string{"127.0.0.1", "::1"} {
			t.Run(name+" at "+host, func(t *testing.T) {
				address, sent := serveTLS(t, host, config)
				bundle := slices.Concat(other.bundle(), []byte("no certificate\n"), ours.bundle())
				got := probeOne(t, address, bundle, patience)
				if got.Reason != Serving || got.Err != nil {
					t.Fatalf("%s: %v", got.Reason, got.Err)
				}
				installtest.Same(t, "certificate", hexSHA256(leaf.Leaf), got.Leaf)
				installtest.Same(t, "its CA", hexSHA256(ours.certificate), got.CA)
				installtest.Same(t, "its validity", []time.Time{leaf.Leaf.NotBefore, leaf.Leaf.NotAfter}, []time.Time{got.NotBefore, got.NotAfter})
				installtest.None(t, "what the server was sent", <-sent)
			})
		}
	}
}

func TestCertificateOfAnotherCA(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	for name, leaf := range map[string]tls.Certificate{
		"for our name":      other.issue(t),
		"for another name":  other.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} }),
		"that has ended":    other.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }),
		"signed by itself":  authority{}.issue(t),
		"in the name of us": newAuthority(t, "ours").issue(t),
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{leaf}})
			got := probeOne(t, address, ours.bundle(), patience)
			mustSayEarly(t, got, "serve the certificate mounted into its container")
			mustSay(t, got, ForeignCertificate,
				fmt.Sprintf("for %q", leaf.Leaf.DNSNames),
				fmt.Sprintf("subject %q", leaf.Leaf.Subject),
				fmt.Sprintf("issuer %q", leaf.Leaf.Issuer),
				fmt.Sprintf("serial %x", leaf.Leaf.SerialNumber),
				"to "+leaf.Leaf.NotAfter.UTC().Format(time.RFC3339),
				`not signed by the expected CA: `, `expected CA: "CN=ours"`)
		})
	}
}

func TestBundleWithoutCertificates(t *testing.T) {
	ours := newAuthority(t, "ours")
	address, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}})
	for name, bundle := range map[string][]byte{
		"empty":             nil,
		"no PEM":            []byte("no certificate\n"),
		"another block":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ours.certificate.Raw}),
		"one with a header": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: ours.certificate.Raw}),
		"one that is cut":   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.certificate.Raw[:100]}),
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, probeOne(t, address, bundle, patience), ForeignCertificate, "expected CA: the caBundle has none")
		})
	}
}

func TestUnfitCertificate(t *testing.T) {
	ours := newAuthority(t, "ours")
	ended := ours
	ended.certificate = sign(t, &x509.Certificate{
		Subject:               ours.certificate.Subject,
		NotBefore:             time.Now().Add(-48 * time.Hour),
		NotAfter:              time.Now().Add(-time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, authority{}, ours.key)

	for name, c := range map[string]struct {
		leaf   tls.Certificate
		bundle []byte
		says   string
	}{
		"for another name": {
			ours.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} }),
			ours.bundle(), "but it is not for " + serverName + ":",
		},
		"that has ended": {
			ours.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }),
			ours.bundle(), "but it has expired or is not valid yet:",
		},
		"for clients": {
			ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
			ours.bundle(), "incompatible key usage",
		},
		"of an expired CA": {ours.issue(t), ended.bundle(), "but that CA has expired or is not valid yet:"},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{c.leaf}})
			got := probeOne(t, address, c.bundle, patience)
			mustSayEarly(t, got, "serve the certificate mounted into its container")
			mustSay(t, got, UnfitCertificate, c.says, fmt.Sprintf("serial %x", c.leaf.Leaf.SerialNumber))
		})
	}
}

func TestNoHandshake(t *testing.T) {
	leaf := newAuthority(t, "ours").issue(t)
	tooOld, _ := serveTLS(t, "127.0.0.1", &tls.Config{
		Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	otherProtocol, _ := serveTLS(t, "127.0.0.1", &tls.Config{
		Certificates: []tls.Certificate{leaf}, NextProtos: []string{"grpc-exp"},
	})
	hungUp := serveRaw(t, readHello)
	reset := serveRaw(t, func(conn *net.TCPConn) {
		readHello(conn)
		_ = conn.SetLinger(0) // What is closed without lingering is reset.
	})
	for name, c := range map[string]struct {
		address string
		reason  Reason
		says    string
	}{
		"nothing listens":       {closedPort(t), Refused, "refuses connections"},
		"no address":            {"::1:9443", Unreachable, "too many colons"},
		"plain HTTP":            {serveHTTP(t), NotTLS, `answers "HTTP/" instead of TLS`},
		"TLS 1.1":               {tooOld, HandshakeFailed, "protocol version not supported"},
		"another protocol only": {otherProtocol, HandshakeFailed, "no application protocol"},
		"closes the connection": {hungUp, HandshakeFailed, "(EOF)"},
		"resets the connection": {reset, HandshakeFailed, "connection reset by peer"},
	} {
		t.Run(name, func(t *testing.T) {
			first := probeOne(t, c.address, nil, patience)
			mustSay(t, first, c.reason, c.says)
			installtest.Same(t, "the message of the same state", first.Err.Error(), probeOne(t, c.address, nil, patience).Err.Error())
		})
	}
}

// readHello reads what a client sends first, so that closing the connection afterwards is not itself a reset.
func readHello(conn *net.TCPConn) { _, _ = conn.Read(make([]byte, 4096)) }

// staySilent reads until the client closes the connection.
func staySilent(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) }

// The connection exists whenever a busy machine gets to it: the time is the handshake's to exceed.
func TestSilentServerTimesOut(t *testing.T) {
	silent := serveRaw(t, staySilent)
	got := probeOne(t, silent, nil, Options{Parallel: 1, Timeout: 50 * time.Millisecond, Dial: func(_ context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp", address)
	}})
	mustSay(t, got, TimedOut, "did not finish a TLS handshake within 50ms")
}

func TestLostConnectionIsRetried(t *testing.T) {
	ours := newAuthority(t, "ours")
	address, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}})
	var begun atomic.Int32
	o := patience
	o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		if begun.Add(1) < 3 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(t.Context(), "tcp", address) // however long a busy machine takes
	}
	o.Timeout = 10 * time.Second // a single connection would take all of it
	if got := probeOne(t, address, ours.bundle(), o); got.Reason != Serving || begun.Load() != 3 {
		t.Errorf("%s after %d connections, want %s after 3: %v", got.Reason, begun.Load(), Serving, got.Err)
	}
}

// A connection through an API server takes several round trips.
func TestPatience(t *testing.T) {
	ours := newAuthority(t, "ours")
	address, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}})
	var begun atomic.Int32
	o := patience
	o.Timeout, o.Patience = 10*time.Second, 10*time.Second
	o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		begun.Add(1)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(3 * defaultPatience):
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	if got := probeOne(t, address, ours.bundle(), o); got.Reason != Serving || begun.Load() != 1 {
		t.Errorf("%s after %d connections, want %s after 1: %v", got.Reason, begun.Load(), Serving, got.Err)
	}
}

func TestCancelledProbe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := serveRaw(t, func(conn *net.TCPConn) {
		readHello(conn)
		cancel()
		staySilent(conn)
	})
	for _, moment := range []string{"in its handshake", "before its dial"} {
		got := All(ctx, []Target{at(silent)}, nil, patience)[0]
		t.Run(moment, func(t *testing.T) { mustSay(t, got, Interrupted) })
	}
}

// More targets than there is time for, all of which swallow what is sent to them, cost that time
// and no more, and none of them is reported to have had the whole time limit of one.
func TestTheTimeForAllTargetsEnds(t *testing.T) {
	swallow := func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	targets := slices.Repeat([]Target{at("192.0.2.1:9443")}, 20)
	began := time.Now()
	results := All(t.Context(), targets, nil, Options{Parallel: 4, Timeout: time.Minute, Total: 50 * time.Millisecond, Dial: swallow})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, got := range results {
		mustSay(t, got, Interrupted, "the time for all targets was over")
	}
}

// Only who gave an answer was reached, for any answer.
func TestNoneDialled(t *testing.T) {
	for _, reason := range Reasons {
		unreached := reason == TimedOut || reason == Unreachable || reason == Interrupted
		installtest.Same(t, fmt.Sprintf("none was dialled, one is %s", reason), unreached, NoneDialled([]Result{{Reason: TimedOut}, {Reason: reason}, {Reason: Interrupted}}))
	}
	installtest.Same(t, "none was dialled of no targets", true, NoneDialled(nil))
}

func TestResultsKeepTheOrderOfTargets(t *testing.T) {
	ours := newAuthority(t, "ours")
	good, _ := serveTLS(t, "127.0.0.1", &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}})
	plain, closed := serveHTTP(t), closedPort(t)
	targets := []Target{at(plain), at(good), at(closed), at(good), at(plain)}
	want := []Reason{NotTLS, Serving, Refused, Serving, NotTLS}
	for i, got := range All(t.Context(), targets, ours.bundle(), patience) {
		if got.Target != targets[i] || got.Reason != want[i] {
			t.Errorf("result %d is %s of %s, want %s of %s", i, got.Reason, got.Address, want[i], targets[i].Address)
		}
	}
	installtest.Same(t, "the number of results without targets", 0, len(All(t.Context(), nil, ours.bundle(), patience)))
}

// Each handshake waits in the server until a second one exists, so that fewer than
// two at once never end. A third has some time to come, and is counted while its
// client waits too, so that it exists only if more than two are probed at once.
func TestTargetsAreProbedInParallelWithinTheBound(t *testing.T) {
	ours := newAuthority(t, "ours")
	leaf := ours.issue(t)
	var active atomic.Int32
	meeting, third := make(chan struct{}), make(chan struct{}, 8)
	address, _ := serveTLS(t, "127.0.0.1", &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		defer active.Add(-1)
		if active.Add(1) > 2 {
			third <- struct{}{}
			return &leaf, nil
		}
		select {
		case meeting <- struct{}{}:
		case <-meeting:
		}
		<-time.After(20 * time.Millisecond)
		return &leaf, nil
	}})
	targets := slices.Repeat([]Target{at(address)}, 8)
	for _, got := range All(t.Context(), targets, ours.bundle(), Options{Parallel: 2, Timeout: 20 * time.Second}) {
		if got.Reason != Serving {
			t.Fatal(got.Err)
		}
	}
	installtest.Same(t, "targets beyond two at once", 0, len(third))
}

func TestEachProbeHasItsHandshake(t *testing.T) {
	ours := newAuthority(t, "ours")
	leaf := ours.issue(t)
	var full atomic.Int32
	address, sent := serveTLS(t, "127.0.0.1", &tls.Config{
		Certificates: []tls.Certificate{leaf},
		VerifyConnection: func(state tls.ConnectionState) error {
			if !state.DidResume {
				full.Add(1)
			}
			return nil
		},
	})
	for range 3 {
		probeOne(t, address, ours.bundle(), patience)
		<-sent
	}
	installtest.Same(t, "the number of full handshakes", int32(3), full.Load())
}
