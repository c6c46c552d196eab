package release

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the root of the checkout.
const root = "../.."

// command is a command of the documentation.
type command struct {
	text    string
	promise string // its comment
}

// commandsOf returns the commands of the sh blocks of a section, without those of the sections below it.
func commandsOf(t *testing.T, page, heading string) []command {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	commands := parse(sectionOf(string(text), heading))
	if len(commands) == 0 {
		t.Fatalf("%s has no section %q with commands", page, heading)
	}
	return commands
}

func sectionOf(page, heading string) string {
	var section strings.Builder
	inSection, inBlock := false, false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inBlock = !inBlock
		}
		if strings.HasPrefix(line, "#") && !inBlock {
			inSection = strings.TrimSpace(strings.TrimLeft(line, "#")) == heading
			continue
		}
		if inSection {
			section.WriteString(line)
		}
	}
	return section.String()
}

var comment = regexp.MustCompile(`(^|\s+)# `)

func parse(section string) []command {
	var commands []command
	inBlock := false
	for line := range strings.Lines(strings.ReplaceAll(section, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if fence, isFence := strings.CutPrefix(line, "```"); isFence {
			inBlock = fence == "sh"
			continue
		}
		parts := slices.Concat(comment.Split(line, 2), []string{""})
		if inBlock && parts[0] != "" {
			commands = append(commands, command{parts[0], parts[1]})
		}
	}
	return commands
}

// without returns the commands that do not begin with a text, which one of them must.
func without(t *testing.T, commands []command, begins string) []command {
	t.Helper()
	left := slices.DeleteFunc(slices.Clone(commands), func(c command) bool { return strings.HasPrefix(c.text, begins) })
	if len(left) == len(commands) {
		t.Fatalf("no command begins with %q: %q", begins, commands)
	}
	return left
}

func TestParse(t *testing.T) {
	page := "# Page\n\n## A\n\n```sh\nX=${Y#v}   # a comment\n# a line\nrun \\\n  --flag\n```\n\n1. Step:\n\n   ```sh\n   sed 's#a#b#' f   # is denied\n   ```\n\n" +
		"```yaml\na: b\n```\n\n### B\n\n```sh\n# not a heading\nother\n```\n"
	want := []command{{"X=${Y#v}", "a comment"}, {"run   --flag", ""}, {"sed 's#a#b#' f", "is denied"}}
	if got := parse(sectionOf(page, "A")); !slices.Equal(got, want) {
		t.Errorf("the commands are %q, want %q", got, want)
	}
	if got := parse(sectionOf(page, "B")); !slices.Equal(got, []command{{"other", ""}}) {
		t.Errorf("the commands of the section below are %q", got)
	}
	if got := without(t, want, "run"); len(got) != 2 {
		t.Errorf("without run, the commands are %q", got)
	}
}
