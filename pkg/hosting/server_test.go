package hosting

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

func TestUnfinishedReviewsDoNotKeepOutProbes(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, string){
		"HTTP/1.1": func(t *testing.T, address string) {
			conn := hostingtest.DialTLS(t, address)
			fmt.Fprint(conn, "POST /pods?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
		},
		"HTTP/2": func(t *testing.T, address string) {
			conn, err := streams.Dial(t.Context(), address)
			hostingtest.Must(t, err)
			t.Cleanup(conn.Close)
			_, err = conn.Open("/pods?timeout=30s", 100)
			hostingtest.Must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := limits.NewCalls()
			mux := http.NewServeMux()
			mux.Handle("/pods", podEndpoint(Validating(admitPod), l))
			mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
			address := hostingtest.ServeTLS(t, limitTime(mux))
			for range serving.MaxConnections {
				begin(t, address)
			}
			hostingtest.Eventually(t, "all calls are in progress", func() bool { return l.Requests() == serving.MaxConnections })
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
