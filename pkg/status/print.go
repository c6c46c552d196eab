package status

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Print writes tables: one line for each webhook; with wide, what else there is to know.
func (s Status) Print(to io.Writer, wide bool, now time.Time) error {
	if s.Away != nil {
		fmt.Fprintf(to, "No manager is at work: nobody has held Lease %s for %s. Nothing is renewed or repaired, and what is said of certificates may be out of date.\n\n",
			s.Away.Lease, duration.HumanDuration(now.Sub(s.Away.Since.Time)))
	}
	if s.NotInstalled != "" {
		fmt.Fprintf(to, "%s\n\n", s.NotInstalled)
	}
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	header := []string{"NAMESPACE", "CSV", "WEBHOOK", "TYPE", "STATE", "SINCE", "CERTIFICATE"}
	if wide {
		header = append(header, "PROVIDER", "PHASE", "REGISTRATION", "REASON")
	}
	fmt.Fprintln(table, strings.Join(append(header, "PROBLEM"), "\t"))
	for _, w := range s.Webhooks {
		fmt.Fprintln(table, strings.Join(w.line(wide, now), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.Unseen != "" {
		fmt.Fprintf(to, "\nAs the manager said last: whether API servers call these webhooks now, and reach them, is not shown: %s\n", s.Unseen)
	}
	if len(s.Others) == 0 {
		return nil
	}
	fmt.Fprintln(to, "\nRegistrations that no ClusterServiceVersion stands behind:")
	fmt.Fprintln(table, "KIND\tNAME\tWEBHOOK\tCALLS\tPOLICY\tPROBLEM")
	for _, o := range s.Others {
		fmt.Fprintln(table, strings.Join([]string{o.Kind, o.Object, orNone(o.Webhook), o.Calls, o.Policy, orNone(o.Problem)}, "\t"))
	}
	return table.Flush()
}

func (w Webhook) line(wide bool, now time.Time) []string {
	cells := []string{w.Namespace, w.CSV, w.Name, w.Type, w.State, age(w.Since, now), left(w.Certificate, now)}
	if wide {
		cells = append(cells, orNone(w.Provider), orNone(w.CertificatePhase), orNone(w.Registration), orNone(w.Reason))
	}
	return append(cells, orNone(w.Problem))
}

func age(since *metav1.Time, now time.Time) string {
	if since == nil {
		return "<none>"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

// left is how long a certificate is valid yet.
func left(until *metav1.Time, now time.Time) string {
	switch {
	case until == nil:
		return "<none>"
	case until.Time.Before(now):
		return "ended " + duration.HumanDuration(now.Sub(until.Time)) + " ago"
	default:
		return duration.HumanDuration(until.Sub(now))
	}
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
