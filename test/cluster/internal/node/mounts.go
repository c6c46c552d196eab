package node

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// mountPrivately gives the node its own /proc, /run, /var/lib, /var/log and /opt: no flag changes these paths.
func mountPrivately(l Layout) error {
	// No mount reaches the machine. Mounts of pods reach the namespaces below, for mount propagation.
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", 0); err != nil {
		return err
	}
	return keepReachable([]string{l.Bin, l.Run}, func() error {
		for _, dir := range []string{"/run", "/var/lib", "/opt"} {
			if err := mount("tmpfs", dir, "tmpfs", 0); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		// The kubelet writes containers' logs below /var/log.
		return mount(l.Logs(), "/var/log", "", syscall.MS_BIND)
	})
}

// keepReachable mounts the directories at their own paths again after cover, and then does the rest.
func keepReachable(dirs []string, cover, then func() error) error {
	handles := make([]*os.File, len(dirs))
	for i, dir := range dirs {
		handle, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer handle.Close()
		handles[i] = handle
	}
	if err := cover(); err != nil {
		return err
	}
	for i, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		covered := fmt.Sprintf("/proc/self/fd/%d", handles[i].Fd())
		if err := mount(covered, dir, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return then()
}

// feignSysctls shows the kubelet three settings as it expects them, so that it does not change the machine's.
func feignSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1",
		"kernel/panic":         "10",
		"kernel/panic_on_oops": "1",
	} {
		feigned := filepath.Join("/run/sysctl", name)
		if err := os.MkdirAll(filepath.Dir(feigned), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(feigned, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(feigned, filepath.Join("/proc/sys", name), "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr) error {
	data := ""
	if kind == "tmpfs" {
		data = "mode=755"
	}
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}
