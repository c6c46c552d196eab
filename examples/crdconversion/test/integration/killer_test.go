package integration

import (
	"net/http"
	"sync"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// killer is an address of the API server that kills a command after a number of its writes.
type killer struct {
	*apiServer
	kubeconfig string

	mu      sync.Mutex
	command *command
	limit   int
	writes  []string
}

func (e *env) startKiller() *killer {
	e.Helper()
	k := &killer{apiServer: e.startAPIServer()}
	k.guard.Store(new(k.permits))
	k.kubeconfig = e.trusting(k.apiServer, func(c *clientcmdapi.Cluster) {
		c.Server, c.TLSServerName = k.URL, "kubernetes.default.svc"
	})
	return k
}

// permits reports whether a request may pass. The first write above the limit kills the command.
func (k *killer) permits(r *http.Request) bool {
	if r.Method == http.MethodGet {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.writes) >= k.limit {
		_ = k.command.Process.Kill() // An earlier write may have killed it.
		return false
	}
	k.writes = append(k.writes, r.Method+" "+r.URL.Path)
	return true
}

func (k *killer) migrate(limit int) (output string, killed bool) {
	k.Helper()
	k.mu.Lock()
	k.limit, k.writes = limit, nil
	k.command = k.startMigrate("--kubeconfig="+k.kubeconfig, "--api-servers="+k.address().String())
	k.mu.Unlock()
	_ = k.command.Wait() // It fails in each case: it is killed, or an object is refused.
	return k.command.output.String(), !k.command.ProcessState.Exited()
}
