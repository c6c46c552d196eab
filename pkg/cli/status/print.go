package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Print writes tables: one line for each webhook; with wide, what else there is to know.
func (s Status) Print(to output.Writer, wide bool, now time.Time) {
	for _, away := range s.Away {
		to.Printf("No manager holds Lease %s, which was renewed %s ago: its manager renews and repairs nothing, and what it reported may be out of date. If that manager was removed, unregister the webhooks that are left (kubectl webhooks remove-manager --namespaces=), and delete the Lease.\n\n",
			away.Lease, duration.HumanDuration(now.Sub(away.Since.Time)))
	}
	if s.NoLease {
		to.Printf("No manager has started: no Lease %s exists. Check its pods: kubectl get deployments,pods -A -l app.kubernetes.io/name=olm-webhook-manager. A manager with an empty --leader-election-namespace needs no Lease.\n\n", wellknown.FieldManager)
	}
	if s.ManagerUnknown != "" {
		to.Printf("Whether a manager runs is not known: %s\n\n", s.ManagerUnknown)
	}
	if s.NotInstalled != "" {
		to.Printf("%s\n\n", s.NotInstalled)
	}
	header := []string{"NAMESPACE", "CSV", "WEBHOOK", "TYPE", "STATE", "SINCE", "CERTIFICATE"}
	if wide {
		header = append(header, "PROVIDER", "PHASE", "PROPAGATION", "REGISTRATION", "REASON")
	}
	rows := lists.Map(s.Webhooks, func(w Webhook) []string { return w.line(wide, now) })
	to.Table("", append(header, "PROBLEM"), rows)
	if wide {
		for _, line := range lists.Distinct(slices.Concat(lists.FilterMap(s.Webhooks, Webhook.propagation), lists.FilterMap(s.Webhooks, Webhook.callsUnknown))) {
			to.Printf("%s\n", line)
		}
	}
	if s.NotChecked != "" {
		to.Printf("\nThe states are the last ones that the manager reported. Whether API servers call and reach the webhooks was not checked: %s\n", s.NotChecked)
	}
	if len(s.Others) == 0 {
		return
	}
	rows = nil
	for _, o := range s.Others {
		rows = append(rows, []string{o.Kind, o.Object, cmp.Or(o.Webhook, none), o.Calls, o.Policy, cmp.Or(o.Problem, none)})
	}
	to.Printf("\nRegistrations that belong to no ClusterServiceVersion:\n")
	to.Table("", []string{"KIND", "NAME", "WEBHOOK", "CALLS", "POLICY", "PROBLEM"}, rows)
}

func (w Webhook) line(wide bool, now time.Time) []string {
	cells := []string{w.Namespace, w.CSV, w.Name, w.Type, w.State, age(w.LastTransitionTime, now), left(w.Certificate, now)}
	if wide {
		cells = append(cells, cmp.Or(w.Provider, none), cmp.Or(w.CertificatePhase, none), cmp.Or(w.Propagation.String(), none), cmp.Or(w.Registration, none), cmp.Or(w.Reason, none))
	}
	return append(cells, cmp.Or(w.Problem, none))
}

// propagation returns why API servers had the settle time in the last rotation, and which of them did not answer.
func (w Webhook) propagation() (line string, exists bool) {
	p := w.Propagation
	if p == nil || p.Reason == "" && len(p.NotReached) == 0 {
		return "", false
	}
	line = fmt.Sprintf("%s/%s %s: the last rotation used %s", w.Namespace, w.CSV, w.Deployment, p)
	if len(p.NotReached) > 0 {
		line += "; API servers that did not answer: " + strings.Join(p.NotReached, ", ")
	}
	if p.Reason != "" {
		line += "; " + p.Reason
	}
	return line, true
}

// callsUnknown returns of which API servers it is not known whether calls fail.
func (w Webhook) callsUnknown() (line string, exists bool) {
	return fmt.Sprintf("%s/%s: %s", w.Namespace, w.CSV, w.CallsUnknown), w.CallsUnknown != ""
}

const none = "<none>"

func age(since *metav1.Time, now time.Time) string {
	if since == nil {
		return none
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

func left(until *metav1.Time, now time.Time) string {
	switch {
	case until == nil:
		return none
	case until.Time.Before(now):
		return "expired " + duration.HumanDuration(now.Sub(until.Time)) + " ago"
	default:
		return duration.HumanDuration(until.Sub(now))
	}
}
