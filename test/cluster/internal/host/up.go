package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/api"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/binaries"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// Wanted is what a cluster shall be made of.
type Wanted struct {
	Kubernetes string // one of binaries.Versions
	APIServers int    // from 1 to node.MaxAPIServers
}

// BringUp makes sure that the cluster is up. It takes down a broken one first. With install, it installs
// missing Debian packages.
func BringUp(ctx context.Context, run string, wanted Wanted, install bool, out io.Writer) error {
	if wanted.APIServers < 1 || wanted.APIServers > node.MaxAPIServers {
		return fmt.Errorf("a cluster has from 1 to %d API servers, not %d", node.MaxAPIServers, wanted.APIServers)
	}
	s := steps{out: out, start: time.Now()}
	if err := preflight(ctx, install, s.say); err != nil {
		return err
	}
	bin, err := binaries.Build(ctx, wanted.Kubernetes, binaries.All, out)
	if err != nil {
		return err
	}
	l := node.Layout{Bin: bin, Run: run, APIServers: wanted.APIServers}
	unlock, err := lock(run)
	if err != nil {
		return err
	}
	defer unlock()
	switch state := Observe(ctx, run); {
	case state.Phase == Up && state.Layout.Bin != bin:
		return fmt.Errorf("the cluster that is up runs the binaries of %s, not of %s: take it down first", state.Layout.Bin, bin)
	case state.Phase == Up && state.Layout.APIServers != wanted.APIServers:
		return fmt.Errorf("the cluster that is up has API servers: %d, and not %d: take it down first", state.Layout.APIServers, wanted.APIServers)
	case state.Phase == Up:
		s.say("the cluster is up already")
		return nil
	case state.Phase == Broken:
		s.say("taking down a broken cluster: %s", state.Reason)
		if err := takeDown(ctx, run); err != nil {
			return err
		}
	}
	if foreign := podCgroups(); len(foreign) > 0 {
		return fmt.Errorf("another kubelet has %s on this machine, where two cannot be: set KUBECONFIG to use its cluster", foreign[0])
	}
	if err := bringUp(ctx, l, s); err != nil {
		return fmt.Errorf("%w\nthe logs are in %s; what is left of the cluster is removed when it is taken down, or brought up again", err, l.Logs())
	}
	s.say("the cluster is up")
	return nil
}

func bringUp(ctx context.Context, l node.Layout, s steps) error {
	if err := writeRun(l); err != nil {
		return err
	}
	s.say("certificates and configuration are written")
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if err := startNode(ctx, l, giveUp); err != nil {
		return err
	}
	s.say("the node has started, in namespaces of its own")
	return waitUntilUp(ctx, l, s)
}

// writeRun creates the folder of the cluster and all that the node finds in it.
func writeRun(l node.Layout) error {
	if err := os.MkdirAll(l.Logs(), 0o755); err != nil {
		return err
	}
	if err := l.Write(); err != nil {
		return err
	}
	if err := writeSandboxImage(l.SandboxArchive(), node.SandboxImage, l.Program("pause")); err != nil {
		return err
	}
	return node.WriteCredentials(l)
}

func waitUntilUp(ctx context.Context, l node.Layout, s steps) error {
	client, err := node.NewClient(l)
	if err != nil {
		return err
	}
	for _, stage := range []struct {
		what string
		ask  func(context.Context) error
	}{
		{"kube-apiserver is ready", client.Ready},
		{"the node is registered", func(ctx context.Context) error { return client.Exists(ctx, "/api/v1/nodes/"+node.Name) }},
		{"pods can be created in the namespace default", func(ctx context.Context) error {
			return client.Exists(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
		}},
		{"the node is Ready", func(ctx context.Context) error { return client.NodeReady(ctx, node.Name) }},
		{"the node takes orders", func(ctx context.Context) error { return allReady(ctx, l) }},
	} {
		if err := waitFor(ctx, stage.ask); err != nil {
			return fmt.Errorf("waited in vain until %s: %w", stage.what, err)
		}
		s.say("%s", stage.what)
	}
	return nil
}

func waitFor(ctx context.Context, ask func(context.Context) error) error {
	const limit = 2 * time.Minute // about twenty times what it takes on two cores
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return api.Poll(ctx, ask)
}

// steps reports what has been done, and how long after the beginning.
type steps struct {
	out   io.Writer
	start time.Time
}

func (s steps) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// lock ensures that a cluster is not started and stopped at once. It locks the parent folder, and leaves no file.
func lock(run string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(run), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(run))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	return func() { dir.Close() }, nil
}
