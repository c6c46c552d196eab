package binaries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultKubernetes is the version that is built where none is named.
const DefaultKubernetes = "1.36"

// modFiles are the files, in the module's folder, that name the versions of everything that is built.
var modFiles = map[string]string{
	"1.34":            "versions/1.34.mod",
	"1.35":            "versions/1.35.mod",
	DefaultKubernetes: "go.mod",
	"1.37":            "versions/1.37.mod",
}

// Versions are the versions of Kubernetes that can be built, the oldest first.
func Versions() []string { return slices.Sorted(maps.Keys(modFiles)) }

// modFile returns the file with the requirements of a version, and the file with their sums.
func modFile(kubernetes string) (mod, sum string, err error) {
	mod, ok := modFiles[kubernetes]
	if !ok {
		return "", "", fmt.Errorf("no Kubernetes %s can be built: the versions are %s", kubernetes, strings.Join(Versions(), ", "))
	}
	return mod, strings.TrimSuffix(mod, ".mod") + ".sum", nil
}
