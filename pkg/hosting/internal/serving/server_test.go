package serving_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

func TestWebhookPortBoundsHeaders(t *testing.T) {
	address := hostingtest.ServeTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for protocol, major := range map[string]int{"http/1.1": 1, "h2": 2} {
		for size, want := range map[int]int{12 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			t.Run(fmt.Sprintf("%s, %d bytes", protocol, size), func(t *testing.T) {
				client := &http.Client{Transport: &http.Transport{
					TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}, ForceAttemptHTTP2: protocol == "h2",
				}}
				defer client.CloseIdleConnections()
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address, nil)
				hostingtest.Must(t, err)
				request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
				response, err := client.Do(request)
				if err != nil {
					if want == http.StatusOK {
						t.Fatal(err)
					}
					return // HTTP/2 clients see the limit of the server, and send nothing
				}
				response.Body.Close()
				if response.StatusCode != want || response.ProtoMajor != major {
					t.Errorf("the answer is %s over %s", response.Status, response.Proto)
				}
			})
		}
	}
}

func TestWebhookPortBoundsConnections(t *testing.T) {
	address := hostingtest.ServeTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var idle []net.Conn
	for range serving.MaxConnections + 20 {
		conn, err := net.Dial("tcp", address)
		hostingtest.Must(t, err)
		defer conn.Close()
		idle = append(idle, conn)
	}
	conn := hostingtest.DialTLS(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if answer, err := io.ReadAll(io.LimitReader(conn, 12)); string(answer) != "HTTP/1.1 200" {
		t.Fatalf("a caller is answered %q: %v", answer, err)
	}
	for i, conn := range idle[:21] {
		hostingtest.Must(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is open: %v", i, err)
		}
	}
}
