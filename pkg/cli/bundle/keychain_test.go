package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A credential helper that waits for input does not keep a pull from ending with its context. One that answers is used.
func TestCredentialHelper(t *testing.T) {
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	open := httptest.NewServer(images)
	t.Cleanup(open.Close)
	push(t, open, imageOf(t, bundleFiles), "shop", "v1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "shop" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	reference := server.Listener.Addr().String() + "/shop:v1"
	// The keychain of the library is locked while a helper runs, so the one that waits is last.
	for _, test := range []struct {
		name, script string
		want         error
	}{
		{"answers", `echo '{"Username":"shop","Secret":"secret"}'`, nil},
		{"waits", "exec sleep 5", context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "docker-credential-waiting"), fmt.Appendf(nil, "#!/bin/sh\n%s\n", test.script), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"credsStore": "waiting"}`), 0o600))
			t.Setenv("DOCKER_CONFIG", dir)
			t.Setenv("HOME", dir)
			t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			ctx := t.Context()
			if test.want != nil {
				var end context.CancelFunc
				ctx, end = context.WithTimeout(ctx, 300*time.Millisecond)
				defer end()
			}
			began := time.Now()
			_, err := Open(ctx, reference, Registry{PlainHTTP: true})
			if !errors.Is(err, test.want) || time.Since(began) > 4*time.Second {
				t.Errorf("after %s the error is %v", time.Since(began), err)
			}
			if test.want != nil {
				installtest.Contains(t, err.Error(), "the credential helper for "+server.Listener.Addr().String()+" has not answered")
			}
		})
	}
}
