// Package sourcetest reads the source of the program for tests that search it.
package sourcetest

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Files returns the text of each Go file below some folders, by its path from the root of the
// repository. Tests are left out. The calling package is three folders below the root.
func Files(t testing.TB, folders ...string) map[string]string {
	t.Helper()
	files, root := map[string]string{}, os.DirFS("../../..")
	for _, folder := range folders {
		err := fs.WalkDir(root, folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, path)
			files[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
