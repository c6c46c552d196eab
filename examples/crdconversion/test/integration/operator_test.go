// Package integration has a real API server call the operator.
package integration

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

// env is the API server, as a test sees it.
type env struct {
	*testing.T
	dynamic *dynamic.DynamicClient
	crds    *apiextensions.Clientset
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{T: t}
	var err error
	e.dynamic, err = dynamic.NewForConfig(cluster.Config())
	e.must(err)
	e.crds, err = apiextensions.NewForConfig(cluster.Config())
	e.must(err)
	return e
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// startWebhook runs the webhook, without the controller, until the test ends or the
// function that it returns is called. It registers itself.
func (e *env) startWebhook() (stop func()) {
	e.Helper()
	program := filepath.Join(e.TempDir(), "crdconversion")
	if output, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		e.Fatalf("%v\n%s", err, output)
	}
	port := e.freePort()
	var log syncBuffer
	cmd := exec.Command(program,
		"--controllers=-caches",
		"--webhooks=*",
		"--kubeconfig="+cluster.Kubeconfig,
		"--health-bind-address=",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+e.TempDir(),
		"--self-signed-certificate",
		"--register-webhooks",
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port),
	)
	cmd.Stdout, cmd.Stderr = &log, &log
	e.must(cmd.Start())
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended already, which the log explains
		_ = cmd.Wait()
	})
	e.Cleanup(func() {
		stop()
		if e.Failed() {
			e.Logf("the operator's log:\n%s", log.String())
		}
	})
	return stop
}

func (e *env) freePort() int {
	e.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	e.must(err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// syncBuffer may be written to while it is read.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
