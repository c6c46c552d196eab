package bundle

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func command(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	cmd := NewCommand()
	var text bytes.Buffer
	cmd.SetOut(&text)
	cmd.SetErr(&text)
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return text.String(), err
}

func TestBundleCommands(t *testing.T) {
	const example = "../../../../examples/projectpolicy/bundle"
	config := filepath.Join(t.TempDir(), "config.yaml")
	installtest.Must(t, os.WriteFile(config, []byte("nodeSelector: {disk: ssd}\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string // in the output
		err  string // in the error; empty for none
	}{
		"validate":                        {[]string{"validate", "--strict", example}, example + ": 0 errors, 0 warnings, 4 waived\n", ""},
		"validate without the waivers":    {[]string{"validate", "--strict", "--waivers", os.DevNull, example}, "warning fail-on-core", "not valid: " + example},
		"validate with waivers nowhere":   {[]string{"validate", "--waivers", "nowhere", example}, "", "--waivers: stat nowhere: no such file"},
		"validate as a warning":           {[]string{"validate", "--waivers", os.DevNull, example}, "0 errors, 4 warnings", ""},
		"validate what is no bundle":      {[]string{"validate", "."}, "error   not-a-bundle", "not valid: ."},
		"validate what is not there":      {[]string{"validate", "./nowhere"}, "", "no such file"},
		"validate the others":             {[]string{"validate", "./nowhere", example}, example + ": 0 errors", "no such file"},
		"complete formats":                {[]string{"__complete", "validate", "--output="}, "text\njson\nyaml\nsarif", ""},
		"complete formats of show":        {[]string{"__complete", "show", "--output="}, "mermaid\ndot", ""},
		"validate in SARIF":               {[]string{"validate", "-o", "sarif", example}, `"ruleId": "fail-on-core"`, ""},
		"validate in no format":           {[]string{"validate", "-o", "xml", example}, "", "--output=xml is no format"},
		"explain":                         {[]string{"explain", "self-deadlock"}, "self-deadlock (warning, does not work under OLM v0)", ""},
		"explain all":                     {[]string{"explain"}, "forbidden-rule", ""},
		"explain what is not there":       {[]string{"explain", "nothing"}, "", `there is no finding "nothing"`},
		"show":                            {[]string{"show", example}, "CREATE,UPDATE namespaces", ""},
		"show as YAML":                    {[]string{"show", "-o", "yaml", example}, "onFailure: Fail", ""},
		"show the order":                  {[]string{"show", "-o", "mermaid", example}, "flowchart TD", ""},
		"render":                          {[]string{"render", example}, "kind: ClusterServiceVersion", ""},
		"render with a configuration":     {[]string{"render", "--config", config, example}, "disk: ssd", ""},
		"render as names":                 {[]string{"render", "-o", "name", example}, "clusterserviceversion.operators.coreos.com/projectpolicy.v0.1.0\n", ""},
		"render as a List":                {[]string{"render", "-o", "json", example}, `"kind": "List"`, ""},
		"render in no format":             {[]string{"render", "-o", "wide", example}, "", "--output=wide: use one of"},
		"install in no way of trying":     {[]string{"install", "--dry-run=all", example}, "", "--dry-run=all: use server, client or none"},
		"uninstall in no format":          {[]string{"uninstall", "-o", "xml", example}, "", "--output=xml: use one of"},
		"complete codes":                  {[]string{"__complete", "explain", "self"}, "self-deadlock", ""},
		"complete kinds of dry runs":      {[]string{"__complete", "install", "--dry-run="}, "server\nclient\nnone", ""},
		"render for an unsupported scope": {[]string{"render", "--watch-namespaces", "a", example}, "", "SingleNamespace InstallModeType not supported"},
		"render for two scopes":           {[]string{"render", "--watch-namespaces", "a", "--all-namespaces", example}, "", "none of the others can be"},
		"render what is no bundle":        {[]string{"render", "."}, "", "is no bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := command(t, c.args...)
			installtest.Error(t, c.err, err)
			installtest.Contains(t, out, c.want)
		})
	}
}

func TestValidateIsReadByPrograms(t *testing.T) {
	out := installtest.OrPanic(command(t, "validate", "-o", "json", "../../../../examples/projectpolicy/bundle"))
	var reports []lint.Report
	installtest.Must(t, json.Unmarshal([]byte(out), &reports))
	if len(reports) != 1 || len(reports[0].Findings) != 4 || reports[0].Findings[0].Waived == "" {
		t.Errorf("got %+v", reports)
	}
}

// A command encodes every text of the fixture with hostile texts: no control character of it reaches the
// terminal raw, and no document for programs has a null list.
func TestMaliceIsEncoded(t *testing.T) {
	const malice = "../../bundle/testdata/malice"
	for _, args := range [][]string{
		{"validate", malice}, {"validate", "-o", "json", malice}, {"validate", "-o", "yaml", malice}, {"validate", "-o", "sarif", malice},
		{"validate", "-o", "json", "./no\nwhere\x1b"},
		{"show", malice}, {"show", "-o", "json", malice}, {"show", "-o", "yaml", malice}, {"show", "-o", "dot", malice}, {"show", "-o", "mermaid", malice},
		{"render", malice}, {"explain", "no\x1b"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out, err := command(t, args...)
			if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }); i >= 0 {
				t.Errorf("%q is written raw", out[max(0, i-40):i+10])
			}
			installtest.Same(t, "a line is forged", false, strings.Contains("\n"+out, "\nWebhooks: none"))
			if args[0] != "render" && strings.Contains(out, "null") {
				t.Errorf("a list is null:\n%s", out)
			}
			if args[0] == "render" && (err == nil || out != "") {
				t.Errorf("it is rendered: %v", err)
			}
		})
	}
}
