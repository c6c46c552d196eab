// Package buildinfo has the version of this program.
package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker (hack/build.sh). Go records both in a build from a repository.
var version, commit string

// Info describes how this program was built.
type Info struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"` // the version of k8s.io/client-go
}

// Version returns the version of this program.
func Version() string { return Current().Version }

// Current returns the build information of this program.
func Current() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return infoOf(info, version, commit)
}

const unknown = "unknown"

func infoOf(info *debug.BuildInfo, version, commit string) Info {
	module := info.Main.Version
	if module == "(devel)" { // The build is not from a repository.
		module = ""
	}
	return Info{
		Version:    cmp.Or(version, module, unknown),
		Commit:     cmp.Or(commit, revision(info), unknown),
		Go:         strings.TrimPrefix(cmp.Or(info.GoVersion, runtime.Version()), "go"),
		Kubernetes: cmp.Or(dependency(info, "k8s.io/client-go"), unknown),
	}
}

func revision(info *debug.BuildInfo) string {
	revision, dirty := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

func dependency(info *debug.BuildInfo, path string) string {
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return ""
}
