package lint

import (
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Requests depend on a conversion webhook once there is something to convert.
func TestWhoDependsOnAConversion(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files)
		want   bool
	}{
		"a definition of two versions": {func(files) {}, true},
		"a definition of one version": {func(f files) {
			spec := f.of("CustomResourceDefinition")["spec"].(map[string]any)
			spec["versions"] = spec["versions"].([]any)[1:]
		}, false},
		"a definition that another client brings": {func(f files) { f.remove("CustomResourceDefinition") }, true},
		"of another Deployment":                   {func(f files) { f.webhook()["deploymentName"] = "nobody" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/crdconversion/bundle-v2")
			f.deployment()["spec"].(map[string]any)["replicas"] = 1
			c.change(f)
			installtest.Same(t, "one-replica is found", c.want, slices.Contains(codes(Run(inspect(t, f))), "one-replica"))
		})
	}
}

// A container that starts first and then runs as long as the pod is one that may answer.
func TestReadinessOfSidecars(t *testing.T) {
	for _, probed := range []bool{false, true} {
		f := readFiles(t, "../../../../examples/projectpolicy/bundle")
		server := f.container()
		server["restartPolicy"] = "Always"
		if !probed {
			delete(server, "readinessProbe")
		}
		f.pod()["initContainers"], f.pod()["containers"] = list(server), list(map[string]any{"name": "other", "image": "example.com/other"})
		installtest.Same(t, "no-readiness-probe is found", !probed, slices.Contains(codes(Run(inspect(t, f))), "no-readiness-probe"))
	}
}
