package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// findNode returns the process of the node, among all of the machine; 0 for none. A file with it would outlive it.
func findNode(run string) int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, path := range paths {
		cmdline, err := os.ReadFile(path)
		if err != nil || !node.IsNode(cmdline, run) {
			continue // it ended meanwhile, or is another
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			return pid
		}
	}
	return 0
}

// endNode kills the node's process, and with it, as PID 1 of its namespace, every process of the cluster.
func endNode(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("end the node, process %d: %w", pid, err)
	}
	return within(20*time.Second, fmt.Sprintf("the node, process %d, does not end", pid), func() bool { return hasEnded(pid) })
}

// hasEnded also reports true for a zombie: PID 1 of a namespace becomes one after all others in it.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := bytes.Cut(stat, []byte(") ")) // after the name, which may hold anything
	return len(state) > 0 && (state[0] == 'Z' || state[0] == 'X')
}

// within waits until a condition holds, and returns an error with the given text if it does not in time.
func within(limit time.Duration, otherwise string, so func() bool) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	over := time.After(limit)
	for !so() {
		select {
		case <-ticker.C:
		case <-over:
			return fmt.Errorf("%s within %s", otherwise, limit)
		}
	}
	return nil
}

// podCgroups are the control groups of pods: one tree, or with version 1 of cgroups one for each controller.
func podCgroups() []string {
	v2, _ := filepath.Glob("/sys/fs/cgroup/kubepods") // the patterns are well formed
	v1, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	return append(v2, v1...)
}

// removeCgroups retries: the kernel refuses for a moment while the last process of a pod ends.
func removeCgroups() error {
	return within(10*time.Second, "control groups of pods at /sys/fs/cgroup cannot be removed", func() bool {
		for _, tree := range podCgroups() {
			removeTree(tree)
		}
		return len(podCgroups()) == 0
	})
}

// removeTree removes folders from the leaves up. Their files are the kernel's and are removed with them.
func removeTree(root string) {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		_ = syscall.Rmdir(dir) // whether all no longer exist is asked afterwards
	}
}
