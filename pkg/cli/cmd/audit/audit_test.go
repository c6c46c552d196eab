package audit

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestExitCodes(t *testing.T) {
	with := func(results ...audit.Result) audit.Report {
		var r audit.Report
		for _, result := range results {
			r.Entries = append(r.Entries, audit.Entry{Replay: &audit.Replay{Result: result}})
		}
		return r
	}
	for name, test := range map[string]struct {
		report audit.Report
		want   int
	}{
		"nothing":             {audit.Report{}, 0},
		"a list":              {audit.Report{Entries: []audit.Entry{{}}}, 0},
		"admitted":            {with(audit.Admitted), 0},
		"refused":             {with(audit.Admitted, audit.NotJudged, audit.Refused), exitRefused},
		"changed":             {with(audit.Changed), exitRefused},
		"not judged":          {with(audit.NotJudged, audit.Admitted), exitIncomplete},
		"unread":              {audit.Report{Unread: []string{"secrets: forbidden"}}, exitIncomplete},
		"not registered":      {audit.Report{Webhooks: []audit.Webhook{{Unread: "the webhook is not registered"}}}, exitIncomplete},
		"refused, and unread": {func() audit.Report { r := with(audit.Refused); r.Unread = []string{"secrets"}; return r }(), exitRefused},
	} {
		installtest.Same(t, name, test.want, exitcode.Of(t.Context(), verdict(test.report)))
	}
}

// The sample of docs/admin/audit.md is the output of the command.
func TestAuditSample(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: noon.Add(time.Duration(minutes) * time.Minute)}
	}
	entry := func(name string, state audit.State, replay *audit.Replay, changes ...audit.Change) audit.Entry {
		return audit.Entry{
			Webhook: "v.shop.io", Owner: "shop/shop.v1", Resource: "configmaps", Namespace: "store", Name: name, State: state, Certainty: changes[0].Certainty, Changes: changes, Replay: replay,
		}
	}
	report := audit.Report{
		Webhooks: []audit.Webhook{{Name: "v.shop.io", Namespace: "shop", Owner: "shop.v1", Openings: []managerv1alpha1.Opening{
			{From: noon, AllFrom: at(5), Until: at(21), ClosedBy: managerv1alpha1.ClosedServed},
		}}},
		Notes: []string{"no audit log was given: deleted objects are not listed, and an object that is listed may have been judged by the webhook"},
		Entries: []audit.Entry{
			entry("prices", audit.Exists, &audit.Replay{Result: audit.Refused, Message: `admission webhook "v.shop.io" denied the request: a price is negative`},
				audit.Change{Operation: "CREATE", Time: at(7), Manager: "kubectl-create", Certainty: audit.Certain}),
			entry("rates", audit.Exists, &audit.Replay{Result: audit.Admitted},
				audit.Change{Operation: "UPDATE", Manager: "sync", Certainty: audit.Possible, Reason: "field manager sync changed the object at 2026-03-01T12:40:00Z: this hides its earlier changes"}),
		},
	}
	var out strings.Builder
	printReport(output.New(&out), report, true)
	page := installtest.OrPanic(os.ReadFile("../../../../docs/admin/audit.md"))
	installtest.Contains(t, string(page), "```text\n"+out.String()+"```\n")
}

func TestReadLog(t *testing.T) {
	log := &audit.Log{}
	const line = `{"stage":"ResponseComplete","requestReceivedTimestamp":"2026-03-01T12:00:00.000000Z","stageTimestamp":"2026-03-01T12:00:01.000000Z"}`
	installtest.Must(t, readLog(log, strings.NewReader(line+"\n\n"+line+"\n"+`{"stage":"Resp`))) // The last line is being written.
	installtest.Same(t, "end", "2026-03-01T12:00:01Z", log.Last.UTC().Format(time.RFC3339))
	installtest.Error(t, "line 2 is no event of an audit log", readLog(log, strings.NewReader(line+"\nI1128 text\n")))
}
