// Package operatortest runs an example beside the API server that calls it.
package operatortest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Run builds the example two folders up, and runs it until the test ends or the function
// that it returns is called. It registers itself.
func Run(t *testing.T, cluster *kube.Cluster, args ...string) (stop func()) {
	t.Helper()
	program := built(t, cluster)
	ctx := context.WithoutCancel(t.Context()) // what other cleanups do may still need it
	port := kube.Reserve(t, "127.0.0.1").Port
	var log syncBuffer
	cmd := exec.CommandContext(ctx, program, append([]string{
		"--kubeconfig=" + cluster.Kubeconfig,
		"--health-bind-address=",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + t.TempDir(),
		"--self-signed-certificate",
		"--register-webhooks",
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port),
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var result error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result = cmd.Wait()
	}()
	stop = sync.OnceFunc(func() {
		select {
		case <-ended:
			t.Errorf("the operator ended by itself: %v", result)
		default:
			_ = cmd.Process.Kill() // it may be about to end
			<-ended
		}
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("the operator's log:\n%s", log.String())
		}
	})
	return stop
}

var building struct {
	sync.Once
	program string
	err     error
}

// built is the example's program, which all tests of its package share.
func built(t *testing.T, cluster *kube.Cluster) string {
	t.Helper()
	building.Do(func() {
		var dir string
		if dir, building.err = cluster.TempDir(); building.err != nil {
			return
		}
		building.program = filepath.Join(dir, "operator")
		if output, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-o", building.program, "../..").CombinedOutput(); err != nil {
			building.err = fmt.Errorf("%w\n%s", err, output)
		}
	})
	if building.err != nil {
		t.Fatal(building.err)
	}
	return building.program
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
