package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The files that write to a cluster. What they write was shown and confirmed, is a dry run, or is the purpose of a command
// that names it. A new command installs and removes through pkg/cli/installer.
var writers = []string{
	"installer/access.go", "installer/apply.go", "installer/definitions.go", "installer/dryrun.go", "installer/records.go", "installer/uninstall.go",
	"cmd/certificates/rotate.go", "cmd/manager/stopping.go", "cmd/storage/cluster.go",
}

func TestCommandsWriteInKnownPlaces(t *testing.T) {
	const commands = "../../cli"
	unused := slices.Clone(writers)
	err := filepath.WalkDir(commands, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(commands, path)
		if err != nil {
			return err
		}
		if writes := clusterWrites(file); len(writes) > 0 {
			if !slices.Contains(writers, name) {
				t.Errorf("%s writes to a cluster: %s", name, strings.Join(writes, ", "))
			}
			unused = slices.DeleteFunc(unused, func(writer string) bool { return writer == name })
		}
		return nil
	})
	installtest.Must(t, err)
	installtest.Same(t, "files of the list that write nothing", 0, len(unused))
}

// clusterWrites returns the calls of methods by which clients write: those with a context and further arguments.
func clusterWrites(file *ast.File) (methods []string) {
	verbs := []string{"Create", "Update", "UpdateStatus", "UpdateScale", "Patch", "Apply", "ApplyStatus", "ApplyScale", "Delete", "DeleteCollection"}
	ast.Inspect(file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) < 2 || !isContext(call.Args[0]) {
			return true
		}
		if method, is := call.Fun.(*ast.SelectorExpr); is && slices.Contains(verbs, method.Sel.Name) {
			methods = append(methods, method.Sel.Name)
		}
		return true
	})
	return methods
}

func isContext(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.Contains(strings.ToLower(e.Name), "ctx") || e.Name == "limited" || e.Name == "within"
	case *ast.CallExpr:
		method, is := e.Fun.(*ast.SelectorExpr)
		return is && method.Sel.Name == "Context"
	default:
		return false
	}
}
