package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// host is a command that runs in the process of the test.
type host struct {
	address string
	certs   string // the default of --cert-dir
	stop    context.CancelFunc
	ended   chan struct{}
	err     error // once ended is closed
}

var hosts atomic.Int32

// newAddress returns a loopback address that no other host has, in any test process.
func newAddress() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", hosts.Add(1), byte(pid>>8), byte(pid))
}

// start returns when the command is ready. It ends with the test at the latest.
func start(t *testing.T, b *hosting.Builder, args ...string) *host {
	t.Helper()
	h := launch(t, b, newAddress(), args...)
	h.waitUntilReady(t)
	return h
}

// launch starts a command with webhooks and a self-signed certificate.
func launch(t *testing.T, b *hosting.Builder, address string, args ...string) *host {
	t.Helper()
	certs := t.TempDir()
	h := execute(t, b, address, append([]string{
		"--bind-address=" + address,
		"--cert-dir=" + certs,
		"--self-signed-certificate",
		"--webhook-url=https://" + address + ":9443",
		"--drain-period=100ms",
	}, args...))
	h.certs = certs
	return h
}

func launchPlain(t *testing.T, b *hosting.Builder, args ...string) *host {
	t.Helper()
	return execute(t, b, newAddress(), args)
}

func execute(t *testing.T, b *hosting.Builder, address string, args []string) *host {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &host{address: address, stop: stop, ended: make(chan struct{})}
	cmd := b.Command()
	cmd.SetArgs(append([]string{
		"--kubeconfig=" + cluster.Kubeconfig,
		"--health-bind-address=" + address + ":8081",
	}, args...))
	go func() {
		defer close(h.ended)
		h.err = cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() {
		if err := h.end(); err != nil {
			t.Errorf("the host ended with: %v", err)
		}
	})
	return h
}

func (h *host) end() error {
	h.stop()
	<-h.ended
	return h.err
}

func (h *host) url(path string) string {
	return "https://" + h.address + ":9443" + path
}

func (h *host) waitUntilReady(t *testing.T) {
	t.Helper()
	hostingtest.Eventually(t, "the host is ready", func() bool {
		select {
		case <-h.ended:
			t.Fatalf("the host ended with: %v", h.err)
		default:
		}
		code, _ := h.get(t, "/readyz")
		return code == http.StatusOK
	})
}

func (h *host) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	response, err := http.Get("http://" + h.address + ":8081" + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	hostingtest.Must(t, err)
	return response.StatusCode, string(data)
}
