package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shown.svg")
	script := `$ echo "a < b"; false
! 1
$ printf 'Really? [y/N] '; read -r answer; echo "$answer it is"
> y
`
	installtest.Must(t, record(t.Context(), file, strings.NewReader(script)))
	const want = `$ echo "a < b"; false
a < b
$ printf 'Really? [y/N] '; read -r answer; echo "$answer it is"
Really? [y/N] y
y it is
`
	installtest.Same(t, "the picture", want, drawn(t, file))
}

// What ends otherwise than its author expects is not recorded.
func TestSurprises(t *testing.T) {
	for name, script := range map[string]string{
		"it fails":              "$ true\n$ exit 3\n",
		"it fails otherwise":    "$ exit 3\n! 2\n",
		"it does not fail":      "$ true\n! 2\n",
		"there is no such word": "$ no-such-command\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "shown.svg")
			err := record(t.Context(), file, strings.NewReader(script))
			installtest.Error(t, "it ends with exit code", err)
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is recorded: %v", err)
			}
		})
	}
}

func drawn(t *testing.T, file string) string {
	t.Helper()
	reader, err := os.Open(file)
	installtest.Must(t, err)
	defer reader.Close()
	var lines []string
	for decoder := xml.NewDecoder(reader); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(lines, "\n") + "\n"
		}
		installtest.Must(t, err)
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "text" {
			var line string
			installtest.Must(t, decoder.DecodeElement(&line, &element))
			lines = append(lines, line)
		}
	}
}

func TestLongLinesGoOn(t *testing.T) {
	lines := wrapped(strings.Repeat("ä", columns+3) + "\n\nend\n")
	if len(lines) != 4 || lines[1] != "äää" || lines[2] != "" || lines[3] != "end" {
		t.Errorf("got %q", lines)
	}
}

func TestScriptsThatAreNone(t *testing.T) {
	for _, script := range []string{"echo a\n", "> y\n", "! 1\n", "$ false\n! one\n"} {
		if _, err := parse(script); err == nil {
			t.Errorf("%q is taken for a script", script)
		}
	}
}
