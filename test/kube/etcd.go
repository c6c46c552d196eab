package kube

import (
	"os"
)

// Etcd is where the API server stores its objects, for tests that read them as they
// are stored; empty when the cluster is not the package's own.
func (c *Cluster) Etcd() string {
	if c.server == nil {
		return ""
	}
	return "http://" + addressOf(os.Getpid()).String() + ":" + etcdClientPort
}
