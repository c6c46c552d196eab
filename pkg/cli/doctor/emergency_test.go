package doctor

import (
	"os"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The page that findings and alerts name exists, and needs at most five commands.
func TestEmergencyIsDocumented(t *testing.T) {
	read := func(file string) string {
		text := installtest.OrPanic(os.ReadFile("../../../" + file))
		return string(text)
	}
	steps, found := strings.CutPrefix(read("docs/admin/emergency.md"), "# "+Emergency+"\n")
	if !found {
		t.Fatalf("docs/admin/emergency.md has another title than %q", Emergency)
	}
	steps, _, _ = strings.Cut(steps, "\n## ")
	if n := strings.Count(steps, "\n    kubectl "); n == 0 || n > 5 {
		t.Errorf("it has %d commands, want at most five", n)
	}
	for _, file := range []string{"manifests/monitoring/alerts.yaml", "manifests/monitoring/prometheusrule.yaml"} {
		installtest.Contains(t, read(file), `follow "`+Emergency+`" in docs/admin/emergency.md`)
	}
}
