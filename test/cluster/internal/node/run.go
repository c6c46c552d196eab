package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Run runs the node in its namespaces until a component ends. The end of linked reports that the link exists.
func Run(ctx context.Context, l Layout, linked io.Reader) error {
	// Nothing of the caller's environment, a proxy's address above all, reaches the components.
	os.Clearenv()
	os.Setenv("PATH", l.Bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/run")
	if err := prepare(ctx, l, linked); err != nil {
		return err
	}
	s := &supervisor{layout: l, started: map[int]string{}}
	if err := startAll(ctx, s); err != nil {
		return err
	}
	return s.wait()
}

func prepare(ctx context.Context, l Layout, linked io.Reader) error {
	if err := writeConf(l); err != nil {
		return err
	}
	if err := mountPrivately(l); err != nil {
		return err
	}
	if err := feignSysctls(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if _, err := io.Copy(io.Discard, linked); err != nil {
		return fmt.Errorf("wait for the network link: %w", err)
	}
	return joinNetwork(ctx)
}

// startAll waits for the API server: some components end soon without it.
func startAll(ctx context.Context, s *supervisor) error {
	l := s.layout
	if err := s.start(etcd(), apiServer(l), containerd(l)); err != nil {
		return err
	}
	if err := importSandboxImage(ctx, s); err != nil {
		return err
	}
	if err := waitForAPIServer(ctx, s); err != nil {
		return err
	}
	return s.start(controllerManager(l), scheduler(l), kubelet(l), kubeProxy(l))
}

func logf(format string, args ...any) {
	fmt.Printf("%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// joinNetwork brings up the node's end of the link, which the machine has moved in.
func joinNetwork(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", IP + LinkSubnet, "dev", PeerLink},
		{"link", "set", PeerLink, "up"},
		// There must be a route to a Service's address before nftables can rewrite it.
		{"route", "add", ServiceCIDR, "dev", PeerLink, "src", IP},
	} {
		if err := RunProgram(ctx, "ip", arguments...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
