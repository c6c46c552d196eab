package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// needed are the programs of the distribution, and their Debian packages.
var needed = []struct{ program, pkg, why string }{
	{"runc", "runc", "starts containers"},
	{"nft", "nftables", "kube-proxy's way to program Services"},
	{"ip", "iproute2", "joins the cluster's network to the machine's"},
	{"mount", "mount", "the kubelet mounts volumes with it"},
}

// capabilities that root may lack in a container, by their bit in /proc/self/status.
var capabilities = []struct {
	bit  uint
	name string
}{{12, "CAP_NET_ADMIN"}, {21, "CAP_SYS_ADMIN"}}

// machine is what preflight needs to know of the one that it runs on.
type machine struct {
	uid    int
	status string                    // /proc/self/status
	has    func(program string) bool // whether a program is in the path
	exists func(path string) bool
}

// lacksPrivilege returns why the caller may not run a cluster, and the next step, or nil.
func lacksPrivilege(m machine) error {
	if m.uid != 0 {
		return fmt.Errorf("a cluster needs root, to make namespaces, mounts and network links of its own: " +
			"run this with sudo, or set KUBECONFIG to use a cluster that you have")
	}
	var missing []string
	for _, c := range capabilities {
		if effectiveCapabilities(m.status)&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("root lacks %s here, so that namespaces cannot be made: "+
			"in a container, start it with --privileged, or set KUBECONFIG to use a cluster that you have", strings.Join(missing, " and "))
	}
	if !m.exists("/dev/kmsg") {
		return fmt.Errorf("there is no /dev/kmsg, which the kubelet reads: " +
			"in a container, start it with --privileged, or set KUBECONFIG to use a cluster that you have")
	}
	return nil
}

func effectiveCapabilities(status string) uint64 {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			// A line that is no number means none, and an error that names them all.
			set, _ := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return set
		}
	}
	return 0
}

func missingPackages(m machine) []string {
	var packages []string
	for _, n := range needed {
		if !m.has(n.program) {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

func describeMissing(packages []string) error {
	var lines []string
	for _, n := range needed {
		if slices.Contains(packages, n.pkg) {
			lines = append(lines, fmt.Sprintf("  %s, of package %s: %s", n.program, n.pkg, n.why))
		}
	}
	return fmt.Errorf("programs are missing that a cluster needs:\n%s\ninstall them with: apt-get install -y --no-install-recommends %s",
		strings.Join(lines, "\n"), strings.Join(packages, " "))
}
