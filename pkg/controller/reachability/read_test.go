package reachability

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each API server is read at its own address, and one that cannot be read does not keep the others from it.
func TestRead(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"read": func(w http.ResponseWriter, r *http.Request) {
			installtest.Same(t, "the path", "/metrics", r.URL.Path)
			_, _ = io.WriteString(w, "process_start_time_seconds 7\n")
		},
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"broken":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"other":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>\n") },
		"silent":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	servers := prober.Servers{Obstacle: "one has no address", Each: map[string]*rest.Config{}}
	for name, answer := range answers {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		servers.Each[name] = &rest.Config{Host: server.URL}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	readings := read(ctx, servers, calls.Known{})
	installtest.Same(t, "the obstacle", servers.Obstacle, readings.Obstacle)
	installtest.Same(t, "what is read", map[string]calls.Reading{"read": {Started: 7, Webhooks: map[calls.Webhook]calls.Counters{}}}, readings.Read)
	for name, want := range map[string]string{
		"forbidden": "403 Forbidden: the manager needs the permission to get /metrics",
		"broken":    "500 Internal Server Error", "other": "the metrics lack process_start_time_seconds", "silent": "context deadline exceeded",
	} {
		if got := readings.Unread[name]; !strings.Contains(got, want) {
			t.Errorf("%s: %q does not contain %q", name, got, want)
		}
	}
}
