package programs

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const module = "github.com/olm-webhook-manager/olm-webhook-manager"

func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no module %s at or above %s: run the tests in a checkout", module, start)
		}
	}
}

// dir is the directory of a program. Other sources have another one: no test runs a program of an earlier edit.
func (p program) dir(root string) (string, error) {
	key, err := p.key(root)
	if err != nil {
		return "", err
	}
	if !p.shared {
		return filepath.Join(root, "out", "programs", key), nil
	}
	cache, err := sharedCache()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, p.name+"-"+key), nil
}

func sharedCache() (string, error) {
	if dir := os.Getenv("OWM_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for built programs: set OWM_CACHE, XDG_CACHE_HOME or HOME: %w", err)
	}
	return filepath.Join(dir, "olm-webhook-manager"), nil
}

func (p program) key(root string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version())
	base := root
	if p.shared {
		base = filepath.Join(root, p.module)
	}
	for _, input := range p.inputs {
		if err := hashTree(sum, base, input); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%.8x", sum.Sum(nil)), nil
}

func hashTree(sum hash.Hash, dir, input string) error {
	return filepath.WalkDir(filepath.Join(dir, input), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "test"):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
		return nil
	})
}
