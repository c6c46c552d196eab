package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/admin/troubleshoot.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			found++
			if reason, err := strconv.Unquote(literal.Value); err != nil || !strings.Contains(string(page), reason) {
				t.Errorf("docs/admin/troubleshoot.md lacks reason %s", literal.Value)
			}
		}
		return true
	})
	if found == 0 {
		t.Error("no reasons")
	}
}
