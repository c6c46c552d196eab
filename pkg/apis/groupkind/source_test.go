package groupkind

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// byNameAlone are the places that may compare a kind without its group, each with its reason.
var byNameAlone = map[string]string{
	"pkg/cli/bundle/read.go": "finds a ClusterServiceVersion whose group is misspelt, and reports it",
}

// TestNoKindIsComparedWithoutItsGroup fails where what works with objects of a bundle compares the
// result of GetKind.
func TestNoKindIsComparedWithoutItsGroup(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, dir := range []string{"pkg/cli"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || byNameAlone[filepath.ToSlash(name)] != "" {
				return err
			}
			for _, place := range comparisons(t, path) {
				t.Errorf("%s compares a kind without its group: use groupkind.Is or groupkind.Of", place)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// comparisons are the places of a file where the result of GetKind is compared.
func comparisons(t *testing.T, path string) []token.Position {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []token.Position
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (getsKind(n.X) || getsKind(n.Y)) {
				found = append(found, files.Position(n.Pos()))
			}
		case *ast.SwitchStmt:
			if getsKind(n.Tag) {
				found = append(found, files.Position(n.Pos()))
			}
		}
		return true
	})
	return found
}

func getsKind(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "GetKind"
}
