package csvstatus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// builders are the packages whose texts become messages of conditions.
var builders = []string{"../../rollout", "../../install", "../../certs", "../../scope", "../../lineage", "../../controller"}

const (
	// mostText is the length of the text that a message builder adds, with 16 bytes for each
	// value in it: with the words that stand in front, it fits into MaxMessage.
	mostText  = 240
	valueSize = 16
)

var verb = regexp.MustCompile(`%(\[\d+\])?[+#]?[a-z]`)

// Every message builder leaves room for the words in front of it: what it reports fits into a
// condition whole, unless a value in it is long.
func TestMessageBuildersAreBrief(t *testing.T) {
	texts := 0
	for _, folder := range builders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				text, isText := textOf(n)
				if !isText {
					return true
				}
				texts++
				if size := len(verb.ReplaceAllString(text, strings.Repeat("x", valueSize))); size > mostText {
					t.Errorf("%s: %d bytes, more than %d: put the fact, the cause and the next step briefly: %s", files.Position(n.Pos()), size, mostText, text)
				}
				return false
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 500 {
		t.Errorf("%d texts were found: does this test find anything?", texts)
	}
}

func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(n.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, xIs := textOf(n.X)
		y, yIs := textOf(n.Y)
		return x + y, n.Op == token.ADD && xIs && yIs
	}
	return "", false
}
