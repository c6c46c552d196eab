package lint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// examples are the folders of the examples' bundles.
func examples(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("../../../../examples/*/bundle*/metadata")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for i := range folders {
		folders[i] = filepath.Dir(folders[i])
	}
	return folders
}

func TestExamplesAreStrictlyValid(t *testing.T) {
	for _, dir := range examples(t) {
		b := installtest.OrPanic(bundle.Inspect(dir))
		waivers, err := ReadWaivers(dir + ".waivers.yaml")
		must(t, err)
		for _, f := range Run(b, waivers...).Findings {
			if f.Waived == "" {
				t.Errorf("%s: %s %s: %s", dir, f.Code, f.place(), f.What)
			}
		}
	}
}

func TestEveryCheckIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		installtest.Same(t, "another check has the code "+c.Code, false, seen[c.Code])
		seen[c.Code] = true
		if c.Code != strings.ToLower(c.Code) || strings.ContainsAny(c.Code, " _.") {
			t.Errorf("%q is no code", c.Code)
		}
		if len(c.Explain) < 60 || c.find == nil {
			t.Errorf("%s: explained by %q", c.Code, c.Explain)
		}
		if !slices.Contains([]Level{Error, Warning}, c.Level) || !slices.Contains([]Basis{Unreadable, Rejected, Refused, Broken, UnderOLM, Library, Policy}, c.Basis) {
			t.Errorf("%s has level %q, basis %q", c.Code, c.Level, c.Basis)
		}
	}
}

// codes are those of findings that are not waived.
func codes(r Report) []string {
	all := lists.FilterMap(r.Findings, func(f Finding) (string, bool) { return f.Code, f.Waived == "" })
	return lists.Unique(all, func(code string) string { return code })
}

var must = installtest.Must

func findingsOf(b *bundle.Bundle, code string) []Finding {
	return lists.Filter(Run(b).Findings, func(f Finding) bool { return f.Code == code })
}
