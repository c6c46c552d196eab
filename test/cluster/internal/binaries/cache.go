package binaries

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// cacheRoot is where built binaries are kept, outside of any checkout.
func cacheRoot(getenv func(string) string) (string, error) {
	if dir := getenv("OWM_CACHE"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "cluster"))
	}
	if dir := getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "olm-webhook-manager", "cluster"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".cache", "olm-webhook-manager", "cluster"), nil
	}
	return "", fmt.Errorf("no place for the built binaries: set OWM_CACHE, XDG_CACHE_HOME or HOME")
}

// key names a set of binaries: the Kubernetes version, for readers, and a hash of the files with the
// requirements, of the programs' sources and of how they are built.
func key(dir, kubernetes string, requirements []string, programs []program) (string, error) {
	hash := sha256.New()
	for _, name := range requirements {
		if err := hashFile(hash, dir, name); err != nil {
			return "", err
		}
	}
	for _, p := range programs {
		fmt.Fprintf(hash, "%s %s %q %q\n", p.name, p.pkg, p.args, p.links)
		if !p.local() {
			continue
		}
		sources, err := fs.Glob(os.DirFS(dir), strings.TrimPrefix(p.pkg, "./")+"/*.go")
		if err != nil {
			return "", err
		}
		for _, source := range sources {
			if err := hashFile(hash, dir, source); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%s-%.6x", kubernetes, hash.Sum(nil)), nil
}

func hashFile(hash io.Writer, dir, name string) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	return err
}

const modulePath = "github.com/olm-webhook-manager/olm-webhook-manager/test/cluster"

// moduleDir finds the folder of this module at or above the current one.
func moduleDir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+modulePath+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("the module %s is not at or above %s: start the tool as go run -C test/cluster ./cmd/cluster", modulePath, start)
		}
	}
}

func requiredVersion(mod, module string) (string, error) {
	line := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(module) + ` (v\S+)`)
	match := line.FindStringSubmatch(mod)
	if match == nil {
		return "", fmt.Errorf("go.mod requires no version of %s: write it again with gen.sh", module)
	}
	return match[1], nil
}
