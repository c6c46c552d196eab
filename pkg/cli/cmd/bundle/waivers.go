package bundle

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
)

// waiversOf returns the waivers of --waivers, or of the file next to the bundle's folder, if it exists.
func waiversOf(reference, file string) ([]lint.Waiver, error) {
	if file == "" {
		path, err := besideFolder(reference)
		if path == "" || err != nil {
			return nil, err
		}
		// The author of the bundle may have created it: reading a named pipe would block.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file: replace it, or name a file of waivers with --waivers", path)
		}
		return lint.ReadWaivers(path)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("--waivers: %w", err)
	}
	return lint.ReadWaivers(file)
}

func besideFolder(reference string) (string, error) {
	if !isFolder(reference) {
		return "", nil
	}
	dir := filepath.Clean(reference)
	if base := filepath.Base(dir); base == "." || base == ".." {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
	}
	return dir + ".waivers.yaml", nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
