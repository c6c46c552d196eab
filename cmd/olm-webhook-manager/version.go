package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The linker sets these, where the build names them. A build from a repository has both otherwise.
var version, commit string

// build is what is known of how this program was built.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"` // the version of k8s.io/client-go
}

func versionCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and the versions of Go and of the Kubernetes libraries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			if output.format != "" {
				return output.print(stdout(cmd), thisBuild())
			}
			stdout(cmd).Lines("", thisBuild().text())
			return nil
		},
	}
	output.add(cmd, "json", "yaml")
	return cmd
}

func (b build) text() string {
	return fmt.Sprintf("%s\n  commit: %s\n  go: %s\n  kubernetes: %s\n", b.Version, b.Commit, b.Go, b.Kubernetes)
}

func currentVersion() string { return thisBuild().Version }

func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, version, commit)
}

const unknown = "unknown"

// buildOf prefers what the linker has set.
func buildOf(info *debug.BuildInfo, version, commit string) build {
	module := info.Main.Version
	if module == "(devel)" { // the build was not made from a repository
		module = ""
	}
	return build{
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
