// Command structure reports packages with too many files, types with too many methods, and cycles of
// calls through too many files of a package. Tests and generated files do not count.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	maxFiles   = 30 // of a package
	maxMethods = 40 // of a type
	maxCycle   = 5  // files that a cycle of calls goes through
)

func main() {
	config := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports}
	loaded, err := packages.Load(config, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
	found := false
	for _, p := range loaded {
		for _, finding := range check(p) {
			found = true
			fmt.Printf("%s: %s\n", p.PkgPath, finding)
		}
	}
	if found {
		os.Exit(1)
	}
}

func check(p *packages.Package) (findings []string) {
	files := written(p)
	if len(files) > maxFiles {
		findings = append(findings, fmt.Sprintf("%d files, at most %d: move a subject to a package of its own", len(files), maxFiles))
	}
	for name, count := range methods(files) {
		if count > maxMethods {
			findings = append(findings, fmt.Sprintf("type %s has %d methods, at most %d: split it by subject", name, count, maxMethods))
		}
	}
	for _, cycle := range cycles(p, calls(p, files)) {
		if len(cycle) > maxCycle {
			findings = append(findings, fmt.Sprintf("a cycle of calls goes through %d files, at most %d: %s", len(cycle), maxCycle, strings.Join(cycle, ", ")))
		}
	}
	slices.Sort(findings)
	return findings
}

// written returns the syntax of the files that are not generated, by file name.
func written(p *packages.Package) map[string]*ast.File {
	files := map[string]*ast.File{}
	for _, file := range p.Syntax {
		if !ast.IsGenerated(file) {
			files[fileOf(p, file)] = file
		}
	}
	return files
}

func fileOf(p *packages.Package, node interface{ Pos() token.Pos }) string {
	return filepath.Base(p.Fset.Position(node.Pos()).Filename)
}

// methods returns the number of methods by type.
func methods(files map[string]*ast.File) map[string]int {
	counts := map[string]int{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil {
				counts[strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")]++
			}
		}
	}
	return counts
}

// calls returns which functions of the package each of its functions uses.
func calls(p *packages.Package, files map[string]*ast.File) map[types.Object][]types.Object {
	uses := map[types.Object][]types.Object{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			caller := p.TypesInfo.Defs[function.Name]
			ast.Inspect(function, func(node ast.Node) bool {
				if identifier, ok := node.(*ast.Ident); ok {
					if used, ok := p.TypesInfo.Uses[identifier].(*types.Func); ok && used.Pkg() == p.Types {
						uses[caller] = append(uses[caller], used)
					}
				}
				return true
			})
		}
	}
	return uses
}

// cycles returns the files of functions that call each other in a cycle.
func cycles(p *packages.Package, uses map[types.Object][]types.Object) (groups [][]string) {
	reached := map[types.Object]map[types.Object]bool{}
	for function := range uses {
		reached[function] = map[types.Object]bool{}
		reach(function, uses, reached[function])
	}
	grouped := map[types.Object]bool{}
	for function := range uses {
		files := map[string]bool{}
		for other := range reached[function] {
			if reached[other][function] && !grouped[other] {
				files[fileOf(p, other)], grouped[other] = true, true
			}
		}
		groups = append(groups, slices.Sorted(maps.Keys(files)))
	}
	return groups
}

func reach(from types.Object, uses map[types.Object][]types.Object, reached map[types.Object]bool) {
	for _, next := range uses[from] {
		if !reached[next] {
			reached[next] = true
			reach(next, uses, reached)
		}
	}
}
