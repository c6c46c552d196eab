package doctor

import (
	"os"
	"strings"
	"testing"
)

// The section that findings and alerts name exists, and needs at most five commands.
func TestEmergencyIsDocumented(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, section, found := strings.Cut(read("docs/operations.md"), "\n## "+Emergency+"\n")
	if !found {
		t.Fatalf("docs/operations.md has no section %q", Emergency)
	}
	section, _, _ = strings.Cut(section, "\n### ")
	if n := strings.Count(section, "\n    kubectl "); n == 0 || n > 5 {
		t.Errorf("it has %d commands, want at most five", n)
	}
	for _, file := range []string{"manifests/monitoring/alerts.yaml", "manifests/monitoring/prometheusrule.yaml"} {
		if !strings.Contains(read(file), `follow "`+Emergency+`" in docs/operations.md`) {
			t.Errorf("%s does not name the section", file)
		}
	}
}
