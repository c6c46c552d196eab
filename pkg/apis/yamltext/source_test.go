package yamltext

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
)

// unlimited are the functions that may parse YAML without Check, each with its reason.
var unlimited = map[string]string{
	"pkg/cli/bundle/metadata.go readAnnotations":        "toJSON has checked the text before",
	"pkg/cli/bundle/lines.go lineAt":                    "toJSON has checked the text before",
	"pkg/cli/bundle/internal/need/need.go reference":    "it is for tests, and parses its own text",
	"pkg/cli/cmd/bundle/targetoptions.go options":       "the file is the administrator's own",
	"pkg/cli/doctor/explain/dump.go Objects":            "it splits the text into documents, and appendObjects checks each of them",
	"pkg/apis/yamltext/limits.go Check":                 "it is Check itself",
	"pkg/olmoperator/crdpolicy/policy/policy.go decode": "the text is embedded in the package",
}

const limits = "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"

var (
	libraries = regexp.MustCompile(`(^|/)(go)?yaml(\.v\d+)?(/v\d+)?$`)
	parsers   = regexp.MustCompile(`^(Unmarshal|YAMLToJSON|Load|Parse|New.*(Decoder|Reader|Serializer))`)
)

// Text of others is parsed within limits: YAML with aliases expands without bound.
func TestEveryParserIsLimited(t *testing.T) {
	used := map[string]bool{}
	for name, file := range sourcetest.Parsed(t, "pkg", "cmd") {
		sourcetest.EachFunction(file, func(function string, d ast.Decl) {
			place := name + " " + function
			for _, call := range unchecked(sourcetest.Imports(file), d) {
				if used[place] = true; unlimited[place] == "" {
					t.Errorf("%s calls %s without yamltext.Check of the same text before", place, call)
				}
			}
		})
	}
	for place := range unlimited {
		if !used[place] {
			t.Errorf("%s of the list parses nothing", place)
		}
	}
}

// unchecked returns the uses of parsers whose text was not checked before in the same declaration.
func unchecked(imports map[string]string, d ast.Decl) (uses []string) {
	checked, allowed := map[string]token.Pos{}, map[ast.Expr]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		method, is := call.Fun.(*ast.SelectorExpr)
		if !is {
			return true
		}
		text := sourcetest.Text(call.Args[0])
		if sourcetest.PackageOf(imports, method) == limits && method.Sel.Name == "Check" {
			checked[text] = call.Pos()
		}
		if at, is := checked[text]; is && at < call.Pos() {
			allowed[method] = true
		}
		return true
	})
	ast.Inspect(d, func(n ast.Node) bool {
		s, is := n.(*ast.SelectorExpr)
		if is && libraries.MatchString(sourcetest.PackageOf(imports, s)) && parsers.MatchString(s.Sel.Name) && !allowed[s] {
			uses = append(uses, sourcetest.Text(s))
		}
		return true
	})
	return uses
}

func TestUnchecked(t *testing.T) {
	const head = "package p\nimport (\"sigs.k8s.io/yaml\"; v3 \"go.yaml.in/yaml/v3\"; \"" + limits + "\")\n"
	for text, want := range map[string][]string{
		`func f() { yamltext.Check(a); yaml.Unmarshal(a, &b) }`:                nil,
		`func f() { yaml.Unmarshal(a, &b); yamltext.Check(a) }`:                {"yaml.Unmarshal"},
		`func f() { yamltext.Check(a); yaml.Unmarshal(c, &b) }`:                {"yaml.Unmarshal"},
		`func f() { v3.NewDecoder(a) }`:                                        {"v3.NewDecoder"},
		`func f() { parse := v3.Unmarshal; parse(a, &b) }`:                     {"v3.Unmarshal"},
		`func f() { yaml.Marshal(a); yaml.JSONToYAML(a); value.Unmarshal(a) }`: nil,
		`var parse = yaml.UnmarshalStrict`:                                     {"yaml.UnmarshalStrict"},
	} {
		file := sourcetest.Parse(t, "p.go", head+text)
		sourcetest.EachFunction(file, func(_ string, d ast.Decl) {
			if g, is := d.(*ast.GenDecl); is && g.Tok == token.IMPORT {
				return
			}
			if got := unchecked(sourcetest.Imports(file), d); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		})
	}
}
