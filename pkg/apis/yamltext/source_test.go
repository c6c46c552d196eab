package yamltext

import (
	"regexp"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
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
	for name, text := range sourcetest.Files(t, "pkg/cli", "pkg/install", "pkg/controller", "pkg/apis", "pkg/rollout", "cmd") {
		found := parses.FindString(text)
		if found != "" && unlimited[name] == "" && !strings.Contains(text, "yamltext.Check(") {
			t.Errorf("%s calls %s) without yamltext.Check", name, found)
		}
	}
}
