package bundle

import (
	"strings"
	"testing"
	"unicode"
)

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
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "Webhooks: none") {
					t.Errorf("a line is forged: %s", line)
				}
			}
			if args[0] != "render" && strings.Contains(out, "null") {
				t.Errorf("a list is null:\n%s", out)
			}
			if args[0] == "render" && (err == nil || out != "") {
				t.Errorf("it is rendered: %v", err)
			}
		})
	}
}
