package bundle

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A registry with a certificate of its own, and one without any, are taken when it is said so.
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
		"no TLS, on a local address, as it is said":          {onLoopback, Registry{PlainHTTP: true}, ""},
		"no TLS, as it is said":                              {without, Registry{PlainHTTP: true}, ""},
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

var must = installtest.Must
