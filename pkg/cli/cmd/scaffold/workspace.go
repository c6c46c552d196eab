package scaffold

import (
	"os"
	"path/filepath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// workspaceNote returns what an author must know about a workspace of Go that applies in a directory; empty if none
// does. The Makefile of the operator switches a workspace off, unless the environment names one.
func workspaceNote(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch named := os.Getenv("GOWORK"); named {
	case "off":
		return "", nil
	case "", "auto":
		file := workspaceAbove(absolute)
		if file == "" {
			return "", nil
		}
		return file + " is a workspace of Go, and " + dir + " is below it. The Makefile ignores the workspace. For other go commands and for editors, run: go work use " + output.ShellWord(dir), nil
	default:
		return "the variable GOWORK names the workspace " + named + ". Until it uses the module, go commands fail, also those of the Makefile. Run: go work use " + output.ShellWord(dir) + ", or unset GOWORK", nil
	}
}

// workspaceAbove returns the file go.work that Go finds for a directory; empty for none.
func workspaceAbove(dir string) string {
	for {
		file := filepath.Join(dir, "go.work")
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
