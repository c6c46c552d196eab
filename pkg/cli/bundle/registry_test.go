package bundle

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A registry with a certificate of its own, and one without any, are accepted when an option selects it.
func TestRegistries(t *testing.T) {
	secure := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	must(t, plain.Listener.Close())
	var err error
	plain.Listener, err = net.Listen("tcp", "127.0.0.2:0")
	must(t, err)
	plain.Start()
	t.Cleanup(plain.Close)

	image := imageOf(t, bundleFiles)
	onLoopback := serve(t, imageOf(t, bundleFiles), "shop", "v1")
	withTLS, without := push(t, secure, image, "shop", "v1"), push(t, plain, image, "shop", "v1")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for name, c := range map[string]struct {
		repository string
		registry   Registry
		want       string // the error; empty for none
	}{
		"an unknown CA":        {withTLS, Registry{}, "certificate signed by unknown authority"},
		"a CA that is given":   {withTLS, Registry{CA: ca}, ""},
		"a CA that is none":    {withTLS, Registry{CA: []byte("ca")}, "there is no certificate in the CA bundle"},
		"no TLS, unexpectedly": {without, Registry{}, "server gave HTTP response to HTTPS client"},
		"no TLS, on a local address, although a CA is given": {onLoopback, Registry{CA: ca}, "no request is sent without TLS; if the registry has none: --plain-http"},
		"no TLS, on a local address":                         {onLoopback, Registry{}, "no request is sent without TLS"},
		"no TLS, on a local address, as the option selects":  {onLoopback, Registry{PlainHTTP: true}, ""},
		"no TLS, as the option selects":                      {without, Registry{PlainHTTP: true}, ""},
		"no TLS asked of one with":                           {withTLS, Registry{CA: ca, PlainHTTP: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(t.Context(), c.repository+":v1", c.registry)
			if err == nil {
				err = b.Err()
			}
			installtest.Error(t, c.want, err)
		})
	}
}

// A registry that redirects gets the password, and the host that it names does not.
func TestRedirectedRegistry(t *testing.T) {
	elsewhere := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere <- r.Header.Get("Authorization")
		http.NotFound(w, r)
	}))
	t.Cleanup(other.Close)
	signedIn := false
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, sent := r.BasicAuth()
		switch {
		case !sent:
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/manifests/v1"):
			signedIn = password == "secret"
			http.Redirect(w, r, other.URL+"/manifest", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(redirecting.Close)
	host := redirecting.Listener.Addr().String()
	config := t.TempDir()
	must(t, os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"username": "shop", "password": "secret"}}}`, host), 0o600))
	t.Setenv("DOCKER_CONFIG", config)
	_, err := Open(t.Context(), host+"/shop:v1", Registry{PlainHTTP: true})
	if err == nil || !signedIn {
		t.Errorf("the registry got the password: %t; the error is %v", signedIn, err)
	}
	select {
	case authorization := <-elsewhere:
		installtest.Same(t, "the header Authorization of the other host", "", authorization)
	default:
		t.Errorf("the redirection was not followed: %v", err)
	}
}

// What a registry returns for a digest has that digest.
func TestRegistryOfAnotherImage(t *testing.T) {
	image := imageOf(t, bundleFiles)
	manifest := installtest.OrPanic(image.RawManifest())
	mediaType := installtest.OrPanic(image.MediaType())
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", string(mediaType))
		_, _ = w.Write(manifest)
	}))
	t.Cleanup(lying.Close)
	_, err := Open(t.Context(), lying.Listener.Addr().String()+"/shop@sha256:"+strings.Repeat("a", 64), Registry{PlainHTTP: true})
	installtest.Error(t, "digest", err)
}

var must = installtest.Must
