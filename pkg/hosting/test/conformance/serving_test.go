package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestTLSAndProtocols(t *testing.T) {
	for name, test := range map[string]struct {
		flags    []string
		client   *tls.Config
		refused  bool
		protocol string
	}{
		"the default":          {nil, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, false, "h2"},
		"HTTP/1.1 by choice":   {nil, &tls.Config{NextProtos: []string{"http/1.1"}}, false, "http/1.1"},
		"HTTP/1.1 alone":       {[]string{"--disable-http2-serving"}, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, false, "http/1.1"},
		"TLS 1.2":              {nil, &tls.Config{MaxVersion: tls.VersionTLS12}, false, ""},
		"TLS 1.1":              {nil, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, true, ""},
		"TLS 1.2 where 1.3 is": {[]string{"--tls-min-version=VersionTLS13"}, &tls.Config{MaxVersion: tls.VersionTLS12}, true, ""},
		"a cipher of others": {
			[]string{"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
			&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}}, true, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, judging(), test.flags...)
			test.client.InsecureSkipVerify = true
			conn, err := tls.Dial("tcp", net.JoinHostPort(h.address, "9443"), test.client)
			if (err != nil) != test.refused {
				t.Fatalf("the handshake ended with %v", err)
			}
			if err != nil {
				return
			}
			defer conn.Close()
			hostingtest.Same(t, "the protocol", test.protocol, conn.ConnectionState().NegotiatedProtocol)
		})
	}
}

func judging() *hosting.Builder {
	return judgingIn("any")
}

func dialHost(t *testing.T, h *host) *tls.Conn {
	t.Helper()
	conn := hostingtest.DialTLS(t, net.JoinHostPort(h.address, "9443"))
	hostingtest.Must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return conn
}

// The call is answered even after the drain period, and the client closes the connection.
func TestCallsUnderWayAreAnswered(t *testing.T) {
	namespace, client := newNamespace(t, "underway")
	arrived, proceed := make(chan struct{}), make(chan struct{})
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", obeying(func(func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler {
		return hosting.Validating(func(_ context.Context, r hosting.Request[*corev1.ConfigMap]) error {
			if r.Object.Name != "slow" {
				return hosting.Deny("called")
			}
			close(arrived)
			<-proceed
			return nil
		})
	}, namespace))
	h := start(t, b, "--register-webhooks", "--drain-period=0s")
	waitUntilCalled(t, client, namespace)

	answered := make(chan error)
	go func() {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(context.Background(), doing("slow"), metav1.CreateOptions{})
		answered <- err
	}()
	<-arrived
	h.stop()
	hostingtest.Eventually(t, "there are no new connections", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort(h.address, "9443"))
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	close(proceed)
	if err := <-answered; err != nil {
		t.Errorf("the call under way was answered with %v", err)
	}
}

func TestDrainEndsConnections(t *testing.T) {
	t.Parallel() // in parallel with the rolling restart, which takes longer
	h := start(t, judging(), "--drain-period=10s", "--disable-http2-serving")
	conn := dialHost(t, h)
	reader := bufio.NewReader(conn)
	ask := func() *http.Response {
		t.Helper()
		fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: %s\r\n\r\n", h.address)
		response, err := http.ReadResponse(reader, nil)
		hostingtest.Must(t, err)
		return response
	}
	if response := ask(); response.StatusCode != http.StatusOK || response.Close {
		t.Errorf("before: HTTP %d, last of its connection: %v", response.StatusCode, response.Close)
	} else if _, err := reader.Discard(int(response.ContentLength)); err != nil {
		t.Fatal(err)
	}
	h.stop()
	hostingtest.Eventually(t, "it is not ready", func() bool {
		code, body := h.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "[-]shutdown failed")
	})
	if response := ask(); response.StatusCode != http.StatusServiceUnavailable || !response.Close {
		t.Errorf("while draining: HTTP %d, last of its connection: %v", response.StatusCode, response.Close)
	}
	if code, _ := h.get(t, "/livez"); code != http.StatusOK {
		t.Errorf("a draining process is not alive: HTTP %d", code)
	}
}

func TestMetrics(t *testing.T) {
	h := start(t, judging())
	for range 3 {
		send(t, http.MethodPost, h.url("/judge"), "")
	}
	_, metrics := h.get(t, "/metrics")
	for _, want := range []string{
		`hosting_webhook_requests_total{outcome="invalid",webhook="judge"} 3`,
		`hosting_webhook_requests_total{outcome="allowed",webhook="judge"} 0`,
		`hosting_webhook_duration_seconds_bucket{outcome="invalid",webhook="judge",le="0.001"}`,
		`hosting_webhook_duration_seconds_count{outcome="invalid",webhook="judge"} 3`,
		`hosting_certificate_expiration_timestamp_seconds `,
		`go_goroutines `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("there is no %s in\n%s", want, metrics)
		}
	}
}

func TestFeatureGate(t *testing.T) {
	b := judging()
	working := make(chan struct{})
	b.RegisterController("worker", func(ctx context.Context, _ hosting.Environment) error {
		close(working)
		<-ctx.Done()
		return nil
	})
	h := launch(t, b, newAddress(), "--feature-gates=CloudWebhookServer=false", "--webhooks=*", "--leader-elect=false")
	<-working
	h.waitUntilReady(t)
	if conn, err := net.Dial("tcp", net.JoinHostPort(h.address, "9443")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("there is a listener: %v, %v", conn, err)
	}
}

// The answer does not wait for the rest of the body.
func TestUnknownPath(t *testing.T) {
	h := start(t, judging())
	conn := dialHost(t, h)
	fmt.Fprintf(conn, "POST /other HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n{", h.address)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	hostingtest.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusNotFound || !strings.Contains(string(body), `webhooks are at \"/judge\"`) {
		t.Errorf("HTTP %d with %s, %v", response.StatusCode, body, err)
	}
}
