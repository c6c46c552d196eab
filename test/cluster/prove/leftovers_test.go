//go:build cluster

package prove

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// picture is everything on the machine that a cluster could leave behind.
func picture(t *testing.T) map[string][]string {
	t.Helper()
	picture := map[string][]string{
		"mounts":     lines(readFile(t, "/proc/mounts")),
		"links":      fields(output(t, "ip", "-brief", "link"), 0),
		"routes":     lines(output(t, "ip", "route")),
		"nftables":   lines(output(t, "nft", "list", "ruleset")),
		"cgroups":    cgroups(t),
		"processes":  processes(t),
		"interfaces": lines(output(t, "ip", "-brief", "-6", "address")),
	}
	for _, sysctl := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "net/ipv4/ip_forward"} {
		picture[sysctl] = lines(readFile(t, "/proc/sys/"+sysctl))
	}
	for _, dir := range []string{"/run", "/opt", "/var/lib", "/var/log", "/usr/libexec", "/etc"} {
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, entry := range entries {
			picture[dir] = append(picture[dir], entry.Name())
		}
	}
	return picture
}

func cgroups(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(path, "kubepods") {
			dirs = append(dirs, path)
		}
		return nil
	})
	must(t, err)
	return dirs
}

var ofCluster = regexp.MustCompile(`(^|/)(etcd|kube[a-z-]*|containerd[a-z0-9-]*|runc|pause|olm-webhook-manager-node)( |$)`)

func processes(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(lines(output(t, "ps", "-e", "-o", "args=")), func(args string) bool { return !ofCluster.MatchString(args) })
}

func fields(text string, n int) []string {
	var column []string
	for _, line := range lines(text) {
		column = append(column, strings.Fields(line)[n])
	}
	return column
}

// lines returns the lines in one order, independent of their order in the text.
func lines(text string) []string {
	return slices.Sorted(strings.SplitSeq(strings.TrimSpace(text), "\n"))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
