package host

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock ensures that a cluster is not started and stopped at the same time. It
// holds the folder above the cluster's, so that no file is left of it.
func lock(run string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(run), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(run))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	return func() { dir.Close() }, nil
}
