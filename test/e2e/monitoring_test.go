package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// metricName finds the metrics in alert rules and dashboards; suffixes that a histogram
// adds are part of what is exposed.
var metricName = regexp.MustCompile(`\b(olm_webhook_manager|workqueue|leader_election|rest_client|process)_[a-z_]+`)

// Every metric that an alert or a panel asks for is one that the manager exposes.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	e.create(csv)
	e.succeeds(csv.Name)
	exposed := map[string]bool{}
	for line := range strings.Lines(metrics(e, e.leader())) {
		if name, _, found := strings.Cut(strings.ReplaceAll(line, " ", "{"), "{"); found && !strings.HasPrefix(line, "#") {
			exposed[name] = true
		}
	}
	asked := 0
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		content, err := os.ReadFile("../../manifests/monitoring/" + file)
		e.must(err)
		for _, name := range metricName.FindAllString(string(content), -1) {
			if asked++; !exposed[name] {
				t.Errorf("%s asks for %s, which the manager does not expose", file, name)
			}
		}
	}
	if asked == 0 {
		t.Error("no alert or panel asks for a metric")
	}
}
