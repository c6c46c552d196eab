package doctor

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const drillPages = "../../../../docs/admin/"

// drilled is the output of the command for a dump, and its exit code.
func drilled(t *testing.T, dump string, arguments ...string) (text string, exit int) {
	t.Helper()
	cmd := newDrillCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--dump", dump}, arguments...))
	err := cmd.Execute()
	return out.String(), exitcode.Of(t.Context(), err)
}

// The picture and the output of docs/admin/drill.md are those of the command. Write drill/drill.txt with
// kubectl webhooks doctor drill --dump docs/admin/drill/cluster.yaml, and the picture with -o mermaid.
func TestDrillPage(t *testing.T) {
	page := string(installtest.OrPanic(os.ReadFile(drillPages + "drill.md")))
	_, rest, _ := strings.Cut(page, "```mermaid\n")
	drawn, _, _ := strings.Cut(rest, "```\n")
	text, exit := drilled(t, drillPages+"drill/cluster.yaml", "-o", "mermaid")
	installtest.Same(t, "picture", text, drawn)
	installtest.Same(t, "exit code", exitLocked, exit)
	text, _ = drilled(t, drillPages+"drill/cluster.yaml")
	installtest.Same(t, "drill.txt", text, string(installtest.OrPanic(os.ReadFile(drillPages+"drill/drill.txt"))))
}

// asking is a condition that a dump does not answer.
const asking = "  matchConditions: [{name: c, expression: 'authorizer.path(\"/x\").check(\"get\").allowed()'}]\n"

// Each format has the result, and the exit code is that of the result.
func TestDrillCommand(t *testing.T) {
	cluster := drillPages + "drill/cluster.yaml"
	for format, part := range map[string]string{
		"json": `"smallest": true`, "yaml": "smallest: true", "dot": `n0 -> n2 [label="CREATE of pods"];`,
	} {
		text, exit := drilled(t, cluster, "-o", format)
		installtest.Contains(t, text, part)
		installtest.Same(t, "exit code", exitLocked, exit)
	}
	if _, exit := drilled(t, cluster, "-o", "html"); exit != 1 {
		t.Errorf("an unknown format: exit code %d", exit)
	}
	content := string(installtest.OrPanic(os.ReadFile(cluster)))
	file := t.TempDir() + "/cluster.yaml"
	for name, test := range map[string]struct {
		from, to, says string
		exit           int
	}{
		"a webhook leaves out the Namespace":  {"values: [kube-system, quotas]", "values: [kube-system, quotas, images]", "7 workloads: 7 return, 0 never, 0 perhaps not; 0 cycles, 0 dead ends", 0},
		"the authorizer decides":              {"  objectSelector: {}\n", "  objectSelector: {}\n" + asking, "perhaps never: Deployment quotas/quotas", exitUnknown},
		"the Service of a webhook is missing": {"clusterIP: 10.0.0.1, selector: {app: images}", "clusterIP: 10.0.0.1, selector: {app: none}", "no workload with replicas has pods that it selects", exitLocked},
		"there are no Leases":                 {"kind: Lease,", "kind: Other,", "Assumed: there is no Lease", exitLocked},
	} {
		changed := strings.ReplaceAll(content, test.from, test.to)
		installtest.Must(t, os.WriteFile(file, []byte(changed), 0o600))
		text, exit := drilled(t, file)
		installtest.Contains(t, text, test.says)
		installtest.Same(t, name+": exit code", test.exit, exit)
	}
}
