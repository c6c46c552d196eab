package bundle

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// A registry accepts the connection and does not answer: an interruption ends the program, with the exit code of one.
func TestSilentRegistryIsInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	registry := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(registry.Close)
	cmd := webhooks(t, "bundle", "show", strings.TrimPrefix(registry.URL, "http://")+"/shop:v1", "--plain-http")
	must(t, cmd.Start())
	<-asked
	must(t, cmd.Process.Signal(os.Interrupt))
	endsWith(t, cmd.Wait(), 130)
}
