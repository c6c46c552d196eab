package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

type server struct {
	files
	bin             string // where the programs are
	etcd, apiServer *process
}

// startServer starts the only server of this process: a second one would have the same address.
func startServer(ctx context.Context, bin string, flags []string) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "kube-apiserver-")
	if err != nil {
		return nil, err
	}
	s := &server{files: files(dir), bin: bin}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	address := addressOf(os.Getpid())
	if err := s.write(address); err != nil {
		return nil, err
	}
	if s.etcd, err = startProcess(filepath.Join(bin, "etcd"), s.path("etcd.log"), etcdFlags(s.files, address)); err != nil {
		return nil, err
	}
	if s.apiServer, err = startProcess(filepath.Join(bin, "kube-apiserver"), s.path("kube-apiserver.log"), append(apiServerFlags(s.files, address, apiServerPort, address.String()+":"+etcdClientPort), flags...)); err != nil {
		return nil, err
	}
	return s, s.waitUntilReady(ctx)
}

// readyLimit is about twenty times what an API server takes until it serves, on two cores.
const readyLimit = 2 * time.Minute

// waitUntilReady returns when the API server serves, and has created the namespace default.
func (s *server) waitUntilReady(ctx context.Context) error {
	c, err := use(s.kubeconfig())
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyLimit, true, func(ctx context.Context) (bool, error) {
		if err := errors.Join(s.etcd.endError(), s.apiServer.endError()); err != nil {
			return false, err
		}
		last = answers(ctx, client, "/readyz", "/api/v1/namespaces/default")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver is not ready: %w", errors.Join(err, last))
	}
	return nil
}

func answers(ctx context.Context, client kubernetes.Interface, paths ...string) error {
	for _, path := range paths {
		if err := client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error(); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) stop() error {
	for _, p := range []*process{s.apiServer, s.etcd} {
		if p != nil {
			p.kill()
		}
	}
	return os.RemoveAll(string(s.files))
}

// Etcd returns the URL of etcd, for tests that read stored objects; empty if the cluster is not the package's own.
func (c *Cluster) Etcd() string {
	if c.server == nil {
		return ""
	}
	return "http://" + addressOf(os.Getpid()).String() + ":" + etcdClientPort
}
