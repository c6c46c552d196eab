package flags

import (
	"path/filepath"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Without a kubeconfig, client-go chooses an address at which usually nothing listens.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	_, err := NewCluster().Config()
	installtest.Error(t, "no cluster to work with: no kubeconfig names one. Set KUBECONFIG, or --kubeconfig, to an existing file", err)

	named := NewCluster()
	*named.APIServer = "http://localhost:8080"
	_, err = named.Config()
	installtest.Error(t, "", err)
}
