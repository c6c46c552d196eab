package hosting

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

// serveTLS serves handler like the webhook port, and returns its address.
func serveTLS(t *testing.T, handler http.Handler) string {
	t.Helper()
	pair, err := certificates.SelfSigned([]string{"127.0.0.1"}, "", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent("test", pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	server := &serving.Server{Listener: listener, Certificate: content}
	go func() { served <- server.Serve(ctx, handler, time.Second) }()
	t.Cleanup(func() {
		stop()
		t.Logf("the server ended: %v", <-served)
	})
	return listener.Addr().String()
}

// Connections that send the header of a review, and no body, do not keep out a probe, over HTTP/1.1
// and HTTP/2.
func TestUnfinishedReviewsDoNotKeepOutProbes(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, string){
		"HTTP/1.1": func(t *testing.T, address string) {
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprint(conn, "POST /pods?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
		},
		"HTTP/2": func(t *testing.T, address string) {
			conn, err := streams.Dial(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			if _, err := conn.Open("/pods?timeout=30s", 100); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := limits.NewCalls()
			mux := http.NewServeMux()
			mux.Handle("/pods", podEndpoint(Validating(admitPod), l))
			mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
			address := serveTLS(t, limitTime(mux))
			for range serving.MaxConnections {
				begin(t, address)
			}
			eventually(t, "all calls are in progress", func() bool { return l.Requests() == serving.MaxConnections })
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			defer client.CloseIdleConnections()
			response, err := client.Get("https://" + address + "/readyz")
			if err != nil {
				t.Fatalf("a probe is refused: %v", err)
			}
			response.Body.Close()
		})
	}
}
