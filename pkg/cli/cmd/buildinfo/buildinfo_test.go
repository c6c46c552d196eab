package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestInfoOf(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.0.0-20261123064401-0123456789ab"},
		Deps:     []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: "k8s.io/client-go", Version: "v0.36.3"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789ab"}, {Key: "vcs.modified", Value: "true"}},
	}
	bare := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, GoVersion: "go1.26.1"}
	for name, test := range map[string]struct {
		info            *debug.BuildInfo
		version, commit string
		want            Info
	}{
		"from a repository": {info, "", "", Info{"v0.0.0-20261123064401-0123456789ab", "0123456789ab-dirty", "1.26.1", "v0.36.3"}},
		"as a release":      {info, "v1.0.0", "fedcba", Info{"v1.0.0", "fedcba", "1.26.1", "v0.36.3"}},
		"from an archive":   {bare, "", "", Info{unknown, unknown, "1.26.1", unknown}},
	} {
		installtest.Same(t, name+": info", test.want, infoOf(test.info, test.version, test.commit))
	}
}
