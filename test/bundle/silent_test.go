package bundle

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A registry accepts the connection and does not answer: an interruption ends the program, with the exit code of one,
// and --patience ends it with the cause.
func TestSilentRegistryEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	registry := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(registry.Close)
	show := []string{"bundle", "show", strings.TrimPrefix(registry.URL, "http://") + "/shop:v1", "--plain-http"}
	cmd := webhooks(t, show...)
	must(t, cmd.Start())
	<-asked
	must(t, cmd.Process.Signal(os.Interrupt))
	endsWith(t, cmd.Wait(), 130)

	out, err := webhooks(t, append(show, "--patience=1s")...).CombinedOutput()
	endsWith(t, err, 1)
	installtest.Contains(t, string(out), "was not read within 1s (--patience)")
}

// An API server lists objects and does not answer discovery: an interruption ends the program, with the exit code of
// one, and --patience ends it with the cause.
func TestSilentDiscoveryEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, known := map[string]string{
			"clusterserviceversions": "ClusterServiceVersionList", "operatorgroups": "OperatorGroupList", "subscriptions": "SubscriptionList", "configmaps": "ConfigMapList",
			"deployments": "DeploymentList", "leases": "LeaseList",
		}[path.Base(r.URL.Path)]
		if !known {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"), "/namespaces/")
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{}, "items": []any{}})
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %q}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n", server.URL)
	must(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	install := []string{"bundle", "install", allowedMalice(t), "-n", "dangerous"}

	cmd := webhooks(t, install...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	must(t, cmd.Start())
	<-asked
	must(t, cmd.Process.Signal(os.Interrupt))
	endsWith(t, cmd.Wait(), 130)

	cmd = webhooks(t, append(install, "--patience=1s")...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	endsWith(t, err, 1)
	installtest.Contains(t, string(out), "has not answered within 1s (--patience)")
}
