package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The tests that the threat model and the table of defects name exist.
func TestNamedTestsExist(t *testing.T) {
	missing := map[string]bool{}
	for _, page := range []string{"admin/threat-model.md", "developer/defects.md"} {
		text := installtest.OrPanic(os.ReadFile(filepath.Join("../../../docs", page)))
		names := regexp.MustCompile(`\b(Test|Benchmark|Fuzz)[A-Z]\w+`).FindAllString(string(text), -1)
		if len(names) < 20 {
			t.Errorf("%s names %d tests: this shows little", page, len(names))
		}
		for _, name := range names {
			missing[name] = true
		}
	}
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(source), "func "+name+"(") {
				delete(missing, name)
			}
		}
		return err
	})
	installtest.Must(t, err)
	for name := range missing {
		t.Errorf("there is no %s", name)
	}
}
