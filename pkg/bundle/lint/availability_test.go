package lint

import (
	"slices"
	"testing"
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
		"a definition that somebody else brings": {func(f files) { f.remove("CustomResourceDefinition") }, true},
		"of another Deployment":                  {func(f files) { f.webhook()["deploymentName"] = "nobody" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../examples/crdconversion/bundle-v2")
			f.deployment()["spec"].(map[string]any)["replicas"] = 1
			c.change(f)
			if got := slices.Contains(codes(Run(inspect(t, f))), "one-replica"); got != c.want {
				t.Errorf("one-replica is found: %t, want %t", got, c.want)
			}
		})
	}
}
