package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// printReport prints the openings and objects of each webhook, then the limits and the numbers.
func printReport(to output.Writer, r audit.Report, replayed bool) {
	if len(r.Webhooks) == 0 {
		to.Printf("no WebhookRollout reports an opening of a webhook\n")
		return
	}
	for _, w := range r.Webhooks {
		to.Printf("webhook %s of %s/%s%s\n", w.Name, w.Namespace, w.Owner, openText(w))
		for _, o := range w.Openings {
			to.Printf("  %s\n", openingText(o))
		}
		entries := lists.Filter(r.Entries, func(e audit.Entry) bool {
			return e.Webhook == w.Name && e.Type == w.Type && e.Owner == w.Namespace+"/"+w.Owner
		})
		if len(entries) > 0 {
			to.Printf("\n")
			to.Table("  ", header(replayed), rows(entries, replayed))
		}
		to.Printf("\n")
		printReasons(to, entries)
	}
	for _, note := range r.Notes {
		to.Printf("note: %s\n", note)
	}
	printCounts(to, r, replayed)
}

func openText(w audit.Webhook) string {
	if w.Open {
		return ": open now"
	}
	return ""
}

func openingText(o managerv1alpha1.Opening) string {
	text := "open from " + clock(o.From.Time)
	if o.ClosedBy != "" && o.Until != nil {
		text += fmt.Sprintf(" until %s, closed by %s", clock(o.Until.Time), o.ClosedBy)
	} else {
		text += ", still open"
	}
	if o.AllFrom == nil {
		return text + ", for some requests"
	}
	return text + ", widened at " + clock(o.AllFrom.Time)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func header(replayed bool) []string {
	if replayed {
		return []string{"OBJECT", "STATE", "REPLAY", "CERTAINTY", "CHANGE"}
	}
	return []string{"OBJECT", "STATE", "CERTAINTY", "CHANGE"}
}

// rows has a row for each change. Only the first row of an object names the object.
func rows(entries []audit.Entry, replayed bool) [][]string {
	var all [][]string
	for _, e := range entries {
		object := []string{nameOf(e), string(e.State)}
		if replayed {
			object = append(object, resultText(e))
		}
		for _, c := range e.Changes {
			all = append(all, append(object, string(c.Certainty), changeText(c)))
			object = make([]string, len(object))
		}
	}
	return all
}

func resultText(e audit.Entry) string {
	if e.Replay == nil {
		return "-"
	}
	return string(e.Replay.Result)
}

func nameOf(e audit.Entry) string {
	resource := strings.TrimSuffix(e.Resource+"."+e.Group, ".")
	name := e.Name
	if name == "" {
		name = "(name not in the log)"
	}
	return resource + " " + strings.TrimPrefix(e.Namespace+"/"+name, "/")
}

func changeText(c audit.Change) string {
	text := string(c.Operation)
	if c.Subresource != "" {
		text += " of " + c.Subresource
	}
	if c.Time != nil {
		text += " " + clock(c.Time.Time)
	}
	switch {
	case c.User != "":
		text += " by " + c.User
	case c.Manager != "":
		text += " with field manager " + c.Manager
	}
	return text
}

// printReasons prints why changes are only possible, and what the replay shows except admitted objects.
func printReasons(to output.Writer, entries []audit.Entry) {
	for _, e := range entries {
		for _, c := range e.Changes {
			if c.Reason != "" {
				to.Lines(fmt.Sprintf("%s: %s: ", c.Certainty, nameOf(e)), c.Reason)
			}
		}
	}
	for _, e := range entries {
		if e.Replay == nil || e.Replay.Result == audit.Admitted {
			continue
		}
		to.Lines(fmt.Sprintf("%s: %s: ", e.Replay.Result, nameOf(e)), e.Replay.Message+string(e.Replay.Patch))
		if len(e.Replay.Others) > 0 {
			to.Printf("  these see the request, too: %s\n", strings.Join(e.Replay.Others, "; "))
		}
	}
}

func printCounts(to output.Writer, r audit.Report, replayed bool) {
	certain := len(lists.Filter(r.Entries, func(e audit.Entry) bool { return e.Certainty == audit.Certain }))
	to.Printf("%s: %d certain, %d possible", output.Counted(len(r.Entries), "object"), certain, len(r.Entries)-certain)
	if replayed {
		to.Printf("; replay: %d refused, %d changed, %d not judged, %d admitted", r.Count(audit.Refused), r.Count(audit.Changed), r.Count(audit.NotJudged), r.Count(audit.Admitted))
	}
	to.Printf("\n")
}
