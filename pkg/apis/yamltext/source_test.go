package yamltext

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unlimited are the files that may parse YAML without Check, each with its reason.
var unlimited = map[string]string{
	"pkg/cli/bundle/annotations.go":        "toJSON has checked the text before",
	"pkg/cli/bundle/lines.go":              "toJSON has checked the text before",
	"pkg/cli/bundle/internal/need/need.go": "it is for tests, and parses its own text",
	"pkg/cli/cmd/bundle/targetoptions.go":  "the file is the administrator's own",
	"pkg/apis/yamltext/limits.go":          "it is Check itself",
}

var parses = regexp.MustCompile(`\byaml\.(Unmarshal|UnmarshalStrict|YAMLToJSON|YAMLToJSONStrict|NewDecoder|NewYAMLOrJSONDecoder|NewYAMLReader)\(`)

// Text of others is parsed within limits: YAML with aliases expands without bound.
func TestEveryParserIsLimited(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, dir := range []string{"pkg/cli", "pkg/install", "pkg/controller", "pkg/apis", "pkg/rollout", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || unlimited[filepath.ToSlash(name)] != "" {
				return err
			}
			text, err := os.ReadFile(path)
			if found := parses.Find(text); found != nil && !strings.Contains(string(text), "yamltext.Check(") {
				t.Errorf("%s calls %s) without yamltext.Check", name, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
