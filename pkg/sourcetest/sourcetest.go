// Package sourcetest reads the source of the program for tests that search it.
package sourcetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
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

// Parsed returns the syntax of each file of Files.
func Parsed(t testing.TB, folders ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for name, text := range Files(t, folders...) {
		files[name] = Parse(t, name, text)
	}
	return files
}

// Parse returns the syntax of one file.
func Parse(t testing.TB, name, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// Imports returns the import paths of a file by the names that the file uses for them.
func Imports(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if majorVersion.MatchString(name) && imported != name {
			name = path.Base(path.Dir(imported))
		}
		name, _, _ = strings.Cut(name, ".")
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = imported
	}
	return imports
}

// PackageOf returns the import path of the package that a selector names; empty if it selects of a value.
func PackageOf(imports map[string]string, s *ast.SelectorExpr) string {
	name, is := s.X.(*ast.Ident)
	if !is {
		return ""
	}
	return imports[name.Name]
}

// EachFunction calls do with each declaration of a file, and with the name of the function that it declares.
func EachFunction(file *ast.File, do func(name string, declaration ast.Decl)) {
	for _, d := range file.Decls {
		name := ""
		if f, is := d.(*ast.FuncDecl); is {
			name = f.Name.Name
		}
		do(name, d)
	}
}

// Text returns an expression as in the source.
func Text(e ast.Expr) string { return types.ExprString(e) }
