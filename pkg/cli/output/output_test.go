package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// malice is every sort of text that must not reach a terminal as it is.
var malice = []string{"\x1b[2J", "\r", "\n", "\t", "\a", "\x7f", "\u009b31m", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\xff\xfe", strings.Repeat(" ", 80),
	strings.Repeat("\u00a0", 80) + "Install it? [y/N]", "\u3000", "\u2003", "\u2800", "\u3164", "\u115f", "\u1160", "\uffa0", "a" + strings.Repeat("\u0301", 80)}

func TestEncode(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"shop.v1.0.0":                     "shop.v1.0.0",
		"größer, 大きい, 😀":                  "größer, 大きい, 😀",
		"a\nb\tc\rd":                      `a\nb\tc\rd`,
		"\x1b[31m":                        `\x1b[31m`,
		"\u202eevil\u2066":                `\u202eevil\u2066`,
		"\xff\ufffd":                      `\xff` + "\ufffd",
		"a   b":                           `a \x20\x20b`,
		"a\u00a0b\u3000c":                 `a\u00a0b\u3000c`,
		"\u2800\u3164":                    `\u2800\u3164`,
		"e\u0301":                         "e\u0301",
		"e" + strings.Repeat("\u0301", 5): "e" + strings.Repeat("\u0301", 4) + `\u0301`,
		"\U000e0041":                      `\U000e0041`,
	} {
		installtest.Same(t, fmt.Sprintf("%q", text), want, Encode(text))
	}
}

// No way to write lets a line, a cell or a hidden character of another's text through.
func TestNothingIsWrittenRaw(t *testing.T) {
	type named string
	for _, evil := range malice {
		for name, write := range map[string]struct {
			do    func(Writer)
			lines int
		}{
			"a text":     {func(w Writer) { w.Printf("a %s b\n", evil) }, 1},
			"a width":    {func(w Writer) { w.Printf("%-8s%*d\n", evil, 3, 7) }, 1},
			"quoted":     {func(w Writer) { w.Printf("%q\n", evil) }, 1},
			"an error":   {func(w Writer) { w.Printf("%v\n", errors.New(evil)) }, 1},
			"a type":     {func(w Writer) { w.Printf("%s %v\n", named(evil), []string{evil}) }, 1},
			"a table":    {func(w Writer) { w.Table("  ", []string{"A", "B"}, [][]string{{evil, "b"}}) }, 2},
			"a log":      {func(w Writer) { w.Log().Info(evil); w.Log().Error(errors.New(evil), evil) }, 2},
			"a redrawal": {func(w Writer) { w.Redraw(0, evil); w.Printf("\n") }, 1},
		} {
			var out bytes.Buffer
			write.do(New(&out))
			text := strings.TrimPrefix(out.String(), "\r")
			raw := strings.ContainsFunc(text, func(r rune) bool { return isHidden(r) && r != '\n' }) || strings.Contains(text, strings.Repeat("\u0301", maxMarks+1))
			if raw || strings.Count(text, "\n") != write.lines {
				t.Errorf("%s of %q: %q", name, evil, out.String())
			}
		}
	}
}

func TestPadding(t *testing.T) {
	var out bytes.Buffer
	New(&out).Printf("%-8s|%6s|%5.1f|%q|%.2s|%x\n", "a", "b\n", 1.25, "c", "def", "\x01")
	installtest.Same(t, "output", "a       |   b\\n|  1.2|\"c\"|de|01\n", out.String())
}

func TestLinesAreIndented(t *testing.T) {
	var out bytes.Buffer
	New(&out).Lines("error: ", errors.Join(errors.New("a"), errors.New("b\nInstall it? [y/N]\x1b")).Error())
	installtest.Same(t, "output", "error: a\n  b\n  Install it? [y/N]\\x1b\n", out.String())
}

// Documents keep every value, and show none of its characters raw.
func TestDocumentsKeepValues(t *testing.T) {
	for _, evil := range append(malice, "plain") {
		evil = strings.ToValidUTF8(evil, "?") // JSON has no other texts
		for name, write := range map[string]func(Writer, any) error{"JSON": Writer.JSON, "YAML": Writer.YAML} {
			var out bytes.Buffer
			want := map[string]any{"a": evil, "b": []any{}}
			installtest.Must(t, write(New(&out), want))
			var got map[string]any
			if err := yaml.Unmarshal(out.Bytes(), &got); err != nil || cmp.Diff(want, got) != "" {
				t.Errorf("%s of %q: %v\n%s", name, evil, err, out.String())
			}
			if err := json.Unmarshal(out.Bytes(), &got); name == "JSON" && err != nil {
				t.Error(err)
			}
			if strings.ContainsFunc(out.String(), func(r rune) bool { return hidden(r) && r != '\t' }) || strings.Contains(out.String(), strings.Repeat("\u0301", maxMarks+1)) {
				t.Errorf("%s of %q: %q", name, evil, out.String())
			}
		}
	}
}

// A list is never null, wherever it is.
func TestListsAreNeverNull(t *testing.T) {
	type Item struct {
		Names []string          `json:"names"`
		More  []string          `json:"more,omitempty"`
		Map   map[string]string `json:"map,omitempty"`
		Next  *Item             `json:"next,omitempty"`
	}
	for name, v := range map[string]any{
		"a list": []Item(nil), "a struct": Item{}, "a pointer": &Item{Next: &Item{}}, "a map": map[string]any{"a": []string(nil), "b": map[string][]int{"c": nil}},
		"items": []Item{{}}, "an embedded struct": struct{ Item }{}, "a text": "a", "an interface": []any{[]string(nil)},
	} {
		var out bytes.Buffer
		if err := New(&out).JSON(v); err != nil || strings.Contains(out.String(), "null") {
			t.Errorf("%s: %v %s", name, err, out.String())
		}
	}
}

// A shell reads each text as one word.
func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"./bundle":       "./bundle",
		"my ops":         "'my ops'",
		"":               "''",
		"it's":           `'it'\''s'`,
		"$(rm)":          "'$(rm)'",
		"~":              "'~'",
		"größe":          "'größe'",
		"a_b-c:1@x+y=,%": "a_b-c:1@x+y=,%",
	} {
		installtest.Same(t, text, want, ShellWord(text))
	}
}
