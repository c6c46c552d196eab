package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Discovery ends with the context: while the API server is silent, and while it asks for a retry later.
func TestDiscoveryEndsWithTheContext(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"silent after the header": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"too many requests": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.AfterFunc(50*time.Millisecond, interrupt)
				answer(w, r)
			}))
			t.Cleanup(server.Close)
			client, err := Discovery(ctx, &rest.Config{Host: server.URL})
			installtest.Must(t, err)
			began := time.Now()
			_, err = client.ServerResourcesForGroupVersion("apps/v1")
			if !errors.Is(err, context.Canceled) || time.Since(began) > 10*time.Second {
				t.Errorf("after %s the error is %v", time.Since(began), err)
			}
		})
	}
}

// An answer is read to its end while the context lasts.
func TestDiscoveryAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment"}]}`))
	}))
	t.Cleanup(server.Close)
	client := installtest.OrPanic(Discovery(t.Context(), &rest.Config{Host: server.URL}))
	list := installtest.OrPanic(client.ServerResourcesForGroupVersion("apps/v1"))
	installtest.Same(t, "the number of resources", 1, len(list.APIResources))
}
