// Command words reports the words of hack/tools/vale/styles/Words in the string literals of Go files:
// vale reads comments and Markdown alone.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: words TABLE FILE...")
		os.Exit(2)
	}
	found, err := check(os.Args[1], os.Args[2:])
	for _, finding := range found {
		fmt.Println(finding)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
	}
	if err != nil || len(found) > 0 {
		os.Exit(1)
	}
}

func check(path string, files []string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rules, err := parseRules(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var found []string
	for _, file := range files {
		more, err := checkFile(rules, file, nil)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return found, nil
}

type rule struct {
	pattern *regexp.Regexp
	instead string
}

// parseRules reads a substitution style of vale.
func parseRules(text []byte) ([]rule, error) {
	var style struct {
		IgnoreCase bool              `json:"ignorecase"`
		Swap       map[string]string `json:"swap"`
	}
	if err := yaml.Unmarshal(text, &style); err != nil {
		return nil, err
	}
	if len(style.Swap) == 0 {
		return nil, errors.New("swap names no words")
	}
	var rules []rule
	for pattern, instead := range style.Swap {
		if style.IgnoreCase {
			pattern = "(?i)" + pattern
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule{compiled, instead})
	}
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.pattern.String(), b.pattern.String()) })
	return rules, nil
}

// checkFile reads the source from disk when src is nil.
func checkFile(rules []rule, name string, src any) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	olm := linesOfOLM(files, file)
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if line := files.Position(node.Pos()).Line; !olm[line] && !olm[line-1] {
				found = append(found, checkLiteral(rules, files, node)...)
			}
		}
		return true
	})
	return found, nil
}

// linesOfOLM returns the lines of "//words:olm", which marks a text that OLM defines on the same or the next line.
func linesOfOLM(files *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Text == "//words:olm" {
				lines[files.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}

// checkLiteral returns the findings of one literal. A literal without a blank is a key or a name, not prose.
func checkLiteral(rules []rule, files *token.FileSet, literal *ast.BasicLit) []string {
	text, err := strconv.Unquote(literal.Value)
	if literal.Kind != token.STRING || err != nil || !strings.Contains(text, " ") {
		return nil
	}
	var found []string
	for _, rule := range rules {
		for _, at := range rule.pattern.FindAllStringIndex(text, -1) {
			position := files.Position(literal.Pos())
			if strings.HasPrefix(literal.Value, "`") {
				position.Line += strings.Count(text[:at[0]], "\n")
			}
			found = append(found, fmt.Sprintf("%s:%d: write '%s' instead of '%s'", position.Filename, position.Line, rule.instead, text[at[0]:at[1]]))
		}
	}
	return found
}
