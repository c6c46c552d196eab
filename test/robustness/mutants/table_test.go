package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each mutant has a name of its own, and replaces a text that occurs once.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("two mutants have the name %q", m.name)
		}
		names[m.name] = true
		source, err := os.ReadFile(filepath.Join("../../..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 || m.old == m.new {
			t.Errorf("%s: the text to replace occurs %d times in %s", m.name, n, m.file)
		}
	}
}
