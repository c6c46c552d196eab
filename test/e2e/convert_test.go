package e2e

import (
	"path/filepath"
	"testing"
)

// The output of kustomize becomes a bundle whose webhook goes live, without cert-manager in the cluster.
func TestConvertedBundleGoesLive(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "bundle")
	watched := newBareEnv(t)
	o := &bundleOperator{newTerminal(t, "guard-system"), bundle, watched.namespace}
	o.works("", "bundle", "convert", "test/e2e/testdata/kustomize.yaml", "--name", "guard", "--version", "0.1.0", "-o", bundle)
	o.installs("--watch-namespaces", o.watched)
	configMap := o.file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {deny: \"true\"}}\n")
	o.denies("labelled deny=true", "create", "-f", configMap, "--dry-run=server")
	o.uninstalls()
	o.allows("create", "-f", configMap)
}
