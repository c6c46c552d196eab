// Package host is the outside of the cluster: what happens on the machine so that
// a node comes up in namespaces of its own, is found again, and is removed completely.
package host

import (
	"path/filepath"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// RunDir is where everything of the running cluster is. It is one fixed place, for a
// machine has one cluster, and a path that can be given to another client.
func RunDir(getenv func(string) string) string {
	if dir := getenv("OWM_RUN"); dir != "" {
		return filepath.Clean(dir)
	}
	return "/run/olm-webhook-manager"
}

// External returns the KUBECONFIG of the caller if that names a cluster of the
// caller's own, which is then used without any change. The kubeconfig that
// Up itself wrote is no such thing.
func External(getenv func(string) string) (kubeconfig string, ok bool) {
	kubeconfig = getenv("KUBECONFIG")
	own := node.Layout{Run: RunDir(getenv)}.Kubeconfig()
	return kubeconfig, kubeconfig != "" && filepath.Clean(kubeconfig) != own
}
