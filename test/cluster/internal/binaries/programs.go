package binaries

import (
	"fmt"
	"strings"
)

type program struct {
	name  string   // its path in the bin directory
	pkg   string   // the main package
	args  []string // further arguments of go build
	links []string // the other names it is started by
	holds string   // what a reader of the progress lines should know of it
	light bool     // whether the light tier, etcd and kube-apiserver alone, needs it
}

func (p program) names() []string {
	return append([]string{p.name}, p.links...)
}

func (p program) local() bool {
	return strings.HasPrefix(p.pkg, "./")
}

const cniPlugins = "github.com/containernetworking/plugins/plugins/"

// programs lists everything that is built, for exact versions.
func programs(kubernetes, containerd string) []program {
	source, tags := "./cmd/containerd", "-tags=no_btrfs,no_devmapper,no_zfs"
	if takesContext(containerd) {
		source, tags = "./cmd/containerd24", tags+",containerd24"
	}
	return []program{
		{
			name:  "kube",
			pkg:   "./cmd/kube",
			args:  []string{"-ldflags=-s -w" + kubernetesVersionFlags(kubernetes)},
			links: []string{"etcd", "kubectl", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"},
			holds: "etcd, kubectl and all of Kubernetes, by far the largest",
			light: true,
		},
		{
			name:  "containerd",
			pkg:   source,
			args:  []string{tags, "-ldflags=-s -w -X github.com/containerd/containerd/v2/version.Version=" + containerd},
			links: []string{"ctr"},
			holds: "containerd and its client ctr",
		},
		{
			name:  "containerd-shim-runc-v2",
			pkg:   source + "-shim-runc-v2",
			args:  []string{tags, "-ldflags=-s -w"},
			holds: "one process of it keeps each pod",
		},
		{name: "pause", pkg: "./cmd/pause", args: []string{"-ldflags=-s -w"}, holds: "the first process of each pod"},
		{name: "cni/bridge", pkg: cniPlugins + "main/bridge", args: []string{"-ldflags=-s -w"}, holds: "joins pods to the network"},
		{name: "cni/host-local", pkg: cniPlugins + "ipam/host-local", args: []string{"-ldflags=-s -w"}, holds: "hands out pod addresses"},
	}
}

// takesContext reports whether the commands of a version of containerd take a context: since 2.4.
func takesContext(containerd string) bool {
	var major, minor int
	_, err := fmt.Sscanf(containerd, "v%d.%d.", &major, &minor)
	return err == nil && (major > 2 || major == 2 && minor >= 4)
}

// kubernetesVersionFlags stamps the version. Components compare it, and it decides about feature gates.
func kubernetesVersionFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		fmt.Fprintf(&flags, " -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s"+
			" -X %[1]s.gitTreeState=clean -X %[1]s.gitCommit=unknown -X %[1]s.buildDate=1970-01-01T00:00:00Z",
			pkg, version, major, minor)
	}
	return flags.String()
}
