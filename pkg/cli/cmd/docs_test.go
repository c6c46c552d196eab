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

// The tests that docs/admin/threat-model.md names exist.
func TestThreatModelNamesTests(t *testing.T) {
	text, err := os.ReadFile("../../../docs/admin/threat-model.md")
	installtest.Must(t, err)
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1) {
		missing[name] = true
	}
	if len(missing) < 20 {
		t.Errorf("it names %d tests: this shows little", len(missing))
	}
	err = filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
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
