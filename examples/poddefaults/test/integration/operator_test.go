// Package integration has a real API server call the operator.
package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

// operator is the command, running, and clients of the API server that calls it.
type operator struct {
	kube        kubernetes.Interface
	podDefaults dynamic.NamespaceableResourceInterface
}

// startOperator runs the operator until the test ends. It registers itself.
func startOperator(t *testing.T) *operator {
	t.Helper()
	if err := cluster.InstallCRDs(t.Context(), "../../bundle/manifests/kubeflow.org_poddefaults.yaml"); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	run(t, buildOperator(t))
	t.Cleanup(func() {
		// Who is not there any more must not be called.
		err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), "poddefaults-poddefaults", metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	return &operator{kube: client, podDefaults: dynamicClient.Resource(v1alpha1.Resource)}
}

func buildOperator(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "poddefaults")
	if output, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

// run starts the operator beside the API server, and shows its log if the test fails.
func run(t *testing.T, program string) {
	t.Helper()
	port := freePort(t)
	var log syncBuffer
	cmd := exec.Command(program,
		"--kubeconfig="+cluster.Kubeconfig,
		"--health-bind-address=",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+t.TempDir(),
		"--self-signed-certificate",
		"--register-webhooks",
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port),
	)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already, which the log explains
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the operator's log:\n%s", log.String())
		}
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
