package flags

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestIdleTimeout(t *testing.T) {
	const limit = 2 * time.Second
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := func() {
			_, _ = io.WriteString(w, "something\n")
			w.(http.Flusher).Flush()
		}
		switch r.URL.Path {
		case "/silent":
		case "/stalls":
			send()
		case "/slow":
			for range 6 {
				send()
				pause(r.Context(), limit/4)
			}
			return
		case "/watch":
			send()
			pause(r.Context(), 2*limit)
			send()
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: idleTimeout{http.DefaultTransport, limit}}
	for path, ended := range map[string]bool{"/silent": true, "/stalls": true, "/slow": false, "/watch?watch=true": false} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			err := get(t, client, server.URL+path)
			if ended != (err != nil) || ended && !strings.Contains(err.Error(), "has sent nothing for 2s: see whether it answers with kubectl") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// An interrupted command does not report that the API server sends nothing.
func TestIdleTimeoutAndInterruption(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	request := installtest.OrPanic(http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil))
	response, err := idleTimeout{http.DefaultTransport, time.Minute}.RoundTrip(request)
	if err == nil {
		response.Body.Close()
	}
	if err == nil || strings.Contains(err.Error(), "has sent nothing") {
		t.Errorf("it ends with %v", err)
	}
}

func TestConfigHasIdleTimeout(t *testing.T) {
	address := "http://127.0.0.1:1"
	flags := NewCluster()
	flags.APIServer = &address
	config := installtest.OrPanic(flags.Config())
	if limited, is := config.WrapTransport(http.DefaultTransport).(idleTimeout); !is || limited.limit != maxIdle {
		t.Errorf("its transport is %T", config.WrapTransport(http.DefaultTransport))
	}
}

func get(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	request := installtest.OrPanic(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
