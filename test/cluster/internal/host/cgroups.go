package host

import (
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

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
