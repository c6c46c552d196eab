package celbudget

import (
	"regexp"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
)

// limitedOtherwise are the files that may compile expressions in CEL without a Budget, each with its reason.
var limitedOtherwise = map[string]string{
	"pkg/cli/bundle/dependencies.go": "maxConstraints limits the constraints of a file",
}

var compiles = regexp.MustCompile(`\bcel\.NewValidator\(|\.CompileCELExpression\(|celEnvironment\(\)\.Validate\(|\.ValidateCustomResourceDefinition\(`)

// What a bundle makes the commands compile is limited.
func TestEveryCompilationHasABudget(t *testing.T) {
	seen := 0
	for name, text := range sourcetest.Files(t, "pkg/cli") {
		found := compiles.FindString(text)
		if found == "" {
			continue
		}
		seen++
		if limitedOtherwise[name] == "" && !strings.Contains(text, "celbudget.") {
			t.Errorf("%s calls %s) without a celbudget.Budget", name, found)
		}
	}
	if seen < 3 {
		t.Errorf("only %d files compile expressions: what this test looks for is called otherwise now", seen)
	}
}
