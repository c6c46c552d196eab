// Package operatortest runs an example on the machine of the API server that calls it, and waits for what it does.
package operatortest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// Run runs an example, by its name in test/programs, with --register-webhooks until the test ends or stop is called.
func Run(t *testing.T, cluster *kube.Cluster, name string, args ...string) (stop func()) {
	t.Helper()
	program, err := programs.Path(name)
	installtest.Must(t, err)
	ctx := context.WithoutCancel(t.Context()) // other cleanups may need it
	port := kube.Reserve(t, "127.0.0.1").Port
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append([]string{ //nolint:gosec // G204: a program of this repository
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
	installtest.Must(t, cmd.Start())
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
