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
	s := newSupervisor(l)
	servers, err := newAPIServers(s)
	if err != nil {
		return err
	}
	if err := startAll(ctx, s, servers); err != nil {
		return err
	}
	if err := servers.takeOrders(ctx); err != nil {
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
	return joinNetwork(ctx, l)
}

// startAll waits for an API server: some components end soon without one.
func startAll(ctx context.Context, s *supervisor, servers *apiServers) error {
	l := s.layout
	if err := servers.connect(ctx); err != nil {
		return err
	}
	if err := s.start(etcd()); err != nil {
		return err
	}
	if err := servers.startFirst(); err != nil {
		return err
	}
	if err := s.start(containerd(l)); err != nil {
		return err
	}
	if err := importSandboxImage(ctx, s); err != nil {
		return err
	}
	if err := servers.waitForFirst(ctx); err != nil {
		return err
	}
	if err := servers.startOthers(); err != nil {
		return err
	}
	if err := s.start(controllerManager(l), scheduler(l), kubelet(l), kubeProxy(l)); err != nil {
		return err
	}
	return servers.waitForOthers(ctx)
}

func logf(format string, args ...any) {
	fmt.Printf("%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// joinNetwork brings up the node's end of the link, which the machine has moved in.
func joinNetwork(ctx context.Context, l Layout) error {
	commands := [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", IP + LinkSubnet, "dev", PeerLink},
		{"link", "set", PeerLink, "up"},
		// There must be a route to a Service's address before nftables can rewrite it.
		{"route", "add", ServiceCIDR, "dev", PeerLink, "src", IP},
	}
	for number := 1; number <= l.APIServers; number++ {
		if ip := l.apiServerIP(number); ip != IP {
			commands = append(commands, []string{"address", "add", ip + "/32", "dev", PeerLink})
		}
	}
	for _, arguments := range commands {
		if err := RunProgram(ctx, "ip", arguments...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
