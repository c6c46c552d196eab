package groupkind

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// callers are the files of the commands that may call GetKind, each with its reason.
var callers = map[string]string{
	"pkg/cli/bundle/allowedkinds.go":  "in a message",
	"pkg/cli/bundle/manifests.go":     "in a key, with the group",
	"pkg/cli/bundle/parse.go":         "in messages, and for lists of any group",
	"pkg/cli/bundle/read.go":          "finds a ClusterServiceVersion whose group is misspelt, and reports it",
	"pkg/cli/bundle/unknownfields.go": "in a message",
	"pkg/cli/deploy/record.go":        "is recorded, with the group",
	"pkg/cli/deploy/step.go":          "in messages",
	"pkg/cli/installer/apply.go":      "in a message, with the group",
	"pkg/cli/installer/dryrun.go":     "in a message, with the group",
}

// A kind without its group can be of a tenant. Another file that reads it has to be added with a reason.
func TestNoKindIsReadWithoutItsGroup(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	unused := len(callers)
	err := filepath.WalkDir(filepath.Join(root, "pkg", "cli"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), ".GetKind") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if callers[filepath.ToSlash(name)] == "" {
			t.Errorf("%s reads a kind without its group: use groupkind.Is or groupkind.Of", name)
		} else {
			unused--
		}
		return err
	})
	if err != nil || unused != 0 {
		t.Errorf("%d files of the list do not call GetKind; error %v", unused, err)
	}
}
