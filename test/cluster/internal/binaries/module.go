package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const modulePath = "github.com/olm-webhook-manager/olm-webhook-manager/test/cluster"

// moduleDir finds the folder of this module, from which everything is built, at
// or above the current one.
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
