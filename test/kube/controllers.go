package kube

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
)

// StartControllers runs controllers of kube-controller-manager, with further flags, until
// the cluster stops or the function that it returns is called. The cluster must be the package's own.
func (c *Cluster) StartControllers(names []string, flags ...string) (stop func() error, err error) {
	if c.server == nil {
		return nil, errors.New("a cluster that exists already has its controllers: unset KUBECONFIG")
	}
	p, err := startProcess(filepath.Join(c.server.bin, "kube-controller-manager"), c.server.path("kube-controller-manager.log"), append([]string{
		"--kubeconfig=" + c.Kubeconfig,
		"--controllers=" + strings.Join(names, ","),
		"--leader-elect=false",
		"--secure-port=0", // no client calls it
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}, flags...))
	if err != nil {
		return nil, err
	}
	stop = sync.OnceValue(func() error {
		ended := p.endError() // it has no reason to end by itself
		p.kill()
		return ended
	})
	c.atStop = append(c.atStop, stop)
	return stop, nil
}
