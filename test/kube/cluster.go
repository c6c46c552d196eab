// Package kube gives tests an API server: etcd and kube-apiserver on the loopback
// interface, of the same binaries that the whole cluster runs, or the cluster that
// KUBECONFIG names. There are no controllers, no scheduler and no nodes in the former:
// a Deployment stays as a test writes it, and nothing is garbage collected.
//
// A test package starts one for all its tests:
//
//	var cluster *kube.Cluster
//
//	func TestMain(m *testing.M) { kube.Main(m, &cluster) }
package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is an API server to test against.
type Cluster struct {
	// Kubeconfig is a path, or several as in KUBECONFIG, for other programs.
	Kubeconfig string
	// Audit has every request that the API server answered; empty if the cluster is not the package's own.
	Audit AuditLog

	config *rest.Config
	server *server // nil if the cluster is not the package's own
	atStop []func() error
}

// Config returns a configuration of an administrator, without a rate limit: tests measure the code, not the limit.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Main runs the tests of a package with a cluster, and ends the process.
func Main(m *testing.M, cluster **Cluster) {
	os.Exit(Run(m, cluster))
}

// Run is Main, but returns the exit code. Flags are for the API server, if it is the package's own.
func Run(m *testing.M, cluster **Cluster, flags ...string) int {
	started, err := Start(context.Background(), flags...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "no API server to test against: %v\n", err)
		return 1
	}
	*cluster = started
	code := m.Run()
	if err := started.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Start returns when the API server is ready. It fails when make programs has not built the binaries.
func Start(ctx context.Context, flags ...string) (*Cluster, error) {
	if paths := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); paths != "" {
		return use(paths)
	}
	bin, err := binaries(ctx)
	if err != nil {
		return nil, err
	}
	s, err := startServer(ctx, bin, flags)
	if err != nil {
		return nil, err
	}
	c, err := use(s.kubeconfig())
	if err != nil {
		return nil, err
	}
	c.Audit, c.server = s.audit(apiServerPort), s
	return c, nil
}

func use(paths string) (*Cluster, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(paths)}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG=%s: %w", paths, err)
	}
	config.QPS = -1
	return &Cluster{Kubeconfig: paths, config: config}, nil
}

// PATH returns a PATH with kubectl, which is next to the API server of the package's own cluster.
func (c *Cluster) PATH() string {
	path := os.Getenv("PATH")
	if c.server == nil {
		return path
	}
	return c.server.bin + string(filepath.ListSeparator) + path
}

// TempDir is a new folder for what a package's tests share. It no longer exists after Stop.
func (c *Cluster) TempDir() (string, error) {
	dir, err := os.MkdirTemp("", "kube-tests-")
	c.atStop = append(c.atStop, func() error { return os.RemoveAll(dir) })
	return dir, err
}

// Stop ends the API server and removes its files, if the cluster is the package's own.
func (c *Cluster) Stop() error {
	var errs []error
	for _, stop := range c.atStop {
		errs = append(errs, stop())
	}
	if c.server != nil {
		errs = append(errs, c.server.stop())
	}
	return errors.Join(errs...)
}
