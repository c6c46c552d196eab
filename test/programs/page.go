package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func writeProgramOfPage(page, file string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	code, err := ProgramOf(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(code), 0o600)
}

// ProgramOf returns the first Go program of a Markdown text.
func ProgramOf(text string) (string, error) {
	_, rest, opened := strings.Cut(text, "```go\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		return "", fmt.Errorf("no block of Go code")
	}
	return code, nil
}
