package main

import (
	"os"
	"testing"

	"golang.org/x/mod/modfile"
)

// go install MODULE@VERSION refuses a module that replaces others.
func TestModulesReplaceNothing(t *testing.T) {
	for _, path := range []string{"../../go.mod", "../../pkg/hosting/go.mod"} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module, err := modfile.Parse(path, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(module.Replace)+len(module.Exclude) > 0 {
			t.Errorf("%s has replace or exclude directives: remove them", path)
		}
	}
}
