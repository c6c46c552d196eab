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

// findNode looks for the node's process among all of the machine, and returns 0 if
// there is none. No file can prove it as well: a file outlives the process, and does not
// yet exist when the process begins.
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

// endNode kills the node's process, and with it, as PID 1 of its namespace, every
// process of the cluster. It returns when they no longer exist.
func endNode(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("end the node, process %d: %w", pid, err)
	}
	return within(20*time.Second, fmt.Sprintf("the node, process %d, does not end", pid), func() bool { return hasEnded(pid) })
}

// hasEnded counts a process that was not waited for as ended: the kernel lets
// PID 1 of a namespace become one only after all others in it.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := bytes.Cut(stat, []byte(") ")) // after the name, which may hold anything
	return len(state) > 0 && (state[0] == 'Z' || state[0] == 'X')
}

// within asks again and again whether something is so, and returns an error with the
// given text if it is not so in time.
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

// podCgroups are the control groups that the kubelet makes for pods: one tree, or with
// version 1 of cgroups one for each controller.
func podCgroups() []string {
	v2, _ := filepath.Glob("/sys/fs/cgroup/kubepods") // the patterns are well formed
	v1, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	return append(v2, v1...)
}

// removeCgroups removes the control groups of pods that have ended. The kernel
// refuses for a moment while the last process ends.
func removeCgroups() error {
	return within(10*time.Second, "control groups of pods at /sys/fs/cgroup cannot be removed", func() bool {
		trees := podCgroups()
		for _, tree := range trees {
			removeTree(tree)
		}
		return len(podCgroups()) == 0
	})
}

// removeTree removes folders from the leaves up. The files in them are the kernel's
// and are removed with them.
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
