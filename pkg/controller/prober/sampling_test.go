package prober

import (
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// An API server that observes a marker after a moment is asked again on the same connection while the marker exists.
func TestMarkerBehindOneAddress(t *testing.T) {
	var asked, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) < 4 {
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(managerv1alpha1.WebhookRollout{})
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "the condition " + render.CanaryCondition + " fails"})
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}

	found := markerObjects{"shop", []string{"marker"}}.ask(t.Context(), Servers{Number: 1, Obstacle: "they have one address", Any: config}, time.Minute)
	installtest.Same(t, "what was found", certs.Propagation{Method: managerv1alpha1.PropagationRepeatedRequests, APIServers: 1}, found)
	installtest.Same(t, "the number of connections", 1, int(connections.Load()))
}
