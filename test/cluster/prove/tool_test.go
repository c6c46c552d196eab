//go:build cluster

package prove

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/pki"
)

type tool struct {
	program string
	layout  node.Layout
}

func newTool(t *testing.T) tool {
	t.Helper()
	t.Setenv("KUBECONFIG", "") // else the tool would use that cluster
	program := filepath.Join(t.TempDir(), "cluster")
	output(t, "go", "build", "-o", program, "../cmd/cluster")
	return tool{program: program, layout: node.Layout{Run: host.RunDir(func(string) string { return "" })}}
}

func (c tool) run(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, c.program, arguments...)
}

func (c tool) try(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.program, arguments...).CombinedOutput()
	return string(out), err
}

func (c tool) kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	output(t, filepath.Join(c.layout.BinLink(), "kubectl"), append([]string{"--kubeconfig", c.layout.Kubeconfig()}, arguments...)...)
}

// apply returns the API server's answer, whether it accepts the object or not.
func (c tool) apply(t *testing.T, arguments []string, object string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.layout.BinLink(), "kubectl"),
		append([]string{"--kubeconfig", c.layout.Kubeconfig(), "apply", "-f", "-"}, arguments...)...)
	cmd.Stdin = strings.NewReader(object)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// get calls a server in the cluster from the machine, without a proxy in between.
func get(t *testing.T, authority *pki.Authority, url string) (string, error) {
	t.Helper()
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authority.Cert)
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, ServerName: serverName}, DisableKeepAlives: true},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(30 * time.Second); !so(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
