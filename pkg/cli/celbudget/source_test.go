package celbudget

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// limitedOtherwise are the files that may compile expressions in CEL without a Budget, each with its reason.
var limitedOtherwise = map[string]string{
	"pkg/cli/bundle/dependencies.go": "maxConstraints limits the constraints of a file",
}

var compiles = regexp.MustCompile(`\bcel\.NewValidator\(|\.CompileCELExpression\(|celEnvironment\(\)\.Validate\(|\.ValidateCustomResourceDefinition\(`)

// What a bundle makes the commands compile is limited.
func TestEveryCompilationHasABudget(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "pkg", "cli"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		found := compiles.Find(text)
		if found == nil {
			return err
		}
		seen++
		if limitedOtherwise[filepath.ToSlash(name)] == "" && !strings.Contains(string(text), "celbudget.") {
			t.Errorf("%s calls %s) without a celbudget.Budget", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 3 {
		t.Errorf("only %d files compile expressions: what this test looks for is called otherwise now", seen)
	}
}
