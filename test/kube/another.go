package kube

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// APIServer is another API server of a cluster: it has the same etcd, and its own view of the objects.
type APIServer struct {
	config *rest.Config
	link   *link
}

// others counts the additional API servers of this process: each has a port of its own.
var others atomic.Int32

// AnotherAPIServer starts an API server that ends with the test. Without a cluster of the package's own, the test is skipped.
func (c *Cluster) AnotherAPIServer(t testing.TB) *APIServer {
	t.Helper()
	if c.server == nil {
		t.Skip("this needs a cluster of the package's own: unset KUBECONFIG")
	}
	address := addressOf(os.Getpid())
	to, err := newLink(t.Context(), address.String()+":0", address.String()+":"+etcdClientPort)
	must(t, err)
	t.Cleanup(to.close)
	first, err := strconv.Atoi(apiServerPort)
	must(t, err)
	port := strconv.Itoa(first + int(others.Add(1)))
	server, err := startProcess(filepath.Join(c.server.bin, "kube-apiserver"), c.server.path("kube-apiserver-"+port+".log"), apiServerFlags(c.server.files, address, port, to.address()))
	must(t, err)
	t.Cleanup(server.kill)
	config := c.Config()
	config.Host = "https://" + address.String() + ":" + port
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, readyLimit, true, func(ctx context.Context) (bool, error) {
		return answers(ctx, client, "/readyz") == nil, server.endError()
	}))
	return &APIServer{config, to}
}

// Config returns a configuration of an administrator at this API server, without a rate limit.
func (s *APIServer) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Hold keeps what etcd sends from the API server until Release: its view of the objects stays as it is.
func (s *APIServer) Hold() { s.link.hold() }

// Release lets the API server catch up.
func (s *APIServer) Release() { s.link.release() }
