package bundle

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The flags reach the registry, which has no such image, and where one is lacking it is named.
func TestRegistryFlags(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(registry.New(registry.Logger(quiet)))
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewUnstartedServer(registry.New(registry.Logger(quiet)))
	plain.Listener.Close()
	var err error
	plain.Listener, err = net.Listen("tcp", "127.0.0.2:0") // which no library takes for local
	installtest.Must(t, err)
	plain.Start()
	t.Cleanup(plain.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	installtest.Must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	withTLS, without := secure.Listener.Addr().String()+"/shop:v1", plain.Listener.Addr().String()+"/shop:v1"
	for _, verb := range []string{"validate", "show", "render"} {
		for want, args := range map[string][]string{
			"name its CA: --registry-ca":     {withTLS},
			"manifests/v1: NAME_UNKNOWN":     {withTLS, "--registry-ca", ca},
			"--registry-ca: open nowhere":    {withTLS, "--registry-ca", "nowhere"},
			"if it has no TLS: --plain-http": {without},
			"GET http://127.0.0.2":           {without, "--plain-http"},
		} {
			_, err := command(t, append([]string{verb}, args...)...)
			installtest.Error(t, want, err)
		}
	}
}
