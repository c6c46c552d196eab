// Package audit has the command that lists what passed while webhooks were open.
package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
)

// The exit codes of audit, for scripts.
const (
	exitIncomplete = 1 // Objects could not be listed or judged, and none is known to be refused.
	exitRefused    = 2 // An object is refused or changed, or a webhook is open.
)

// options are the flags of the command.
type options struct {
	connection flags.Cluster
	output     flags.Output
	logs       []string
	replay     bool
}

// NewCommand returns the command audit.
func NewCommand() *cobra.Command {
	o := options{connection: flags.NewCluster().InNamespace("")}
	cmd := &cobra.Command{
		Use:   "audit [WEBHOOK...]",
		Short: "List the objects that were admitted while a webhook was open",
		Long: `Lists the existing objects in the scope of a webhook that were created or changed while the webhook was open: while a
request passed that the webhook did not answer. WEBHOOK is a generateName of a ClusterServiceVersion (default: all webhooks).
The times of the openings come from the WebhookRollouts. The evidence is in the metadata of the objects: creationTimestamp,
managedFields, resourceVersion. An object is Possible where this evidence cannot exclude a change, or where the user of the
request decides.

With --audit-log, the audit log of the API servers replaces this evidence: it names each request that passed because the webhook
did not answer, also those for objects that do not exist any more. The log has one JSON object on each line, of level Metadata or
higher. Deletions need the level Request: otherwise they are Possible, because they may be dry runs. Repeat the flag for the logs
of all API servers.

With --replay, each listed object that exists is sent to the API server as a dry run, so that the webhook judges it: a change as
an update that changes nothing, a creation as a creation. The result is Refused, Changed, Admitted or NotJudged. The request has
your user, not that of the first request. The command refuses a replay while a webhook is open.

The command changes nothing.

Exit codes: 2 an object is refused or changed, or --replay was refused because a webhook is open; 1 objects could not be listed
or judged, or the cluster could not be read; 0 otherwise, also if objects are listed; 130 interrupted.`,
		Example: `  kubectl webhooks audit
  kubectl webhooks audit v.shop.io -n shop --replay
  kubectl webhooks audit --audit-log audit-1.log,audit-2.log -o json`,
	}
	cmd.RunE = o.run
	o.connection.Add(cmd, cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "only webhooks of operators in this namespace (default: all namespaces)"
	o.output.Add(cmd, "json", "yaml")
	cmd.Flags().StringSliceVar(&o.logs, "audit-log", nil, "files with the audit log of the API servers, in the format of the log backend")
	cmd.Flags().BoolVar(&o.replay, "replay", false, "send the listed objects as dry runs, so that the webhooks judge them")
	return cmd
}

func (o *options) run(cmd *cobra.Command, names []string) error {
	log, err := readLogs(o.logs)
	if err != nil {
		return err
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	facts, admission, err := c.Audit(cmd.Context(), *o.connection.Namespace, names)
	if err != nil {
		return err
	}
	if err := areKnown(*o.connection.Namespace, names, facts.Webhooks); err != nil {
		return err
	}
	facts.Log = log
	report := audit.List(facts)
	if open := report.Open(); o.replay && len(open) > 0 {
		return exitcode.With(exitRefused, fmt.Errorf("webhook %s of %s/%s is open: a dry run would pass without its answer. Nothing was sent. Run the command again when the webhook is closed: kubectl webhooks status -n %s",
			open[0].Name, open[0].Namespace, open[0].Owner, open[0].Namespace))
	}
	var failed error
	if o.replay {
		failed = c.Replay(cmd.Context(), admission, &report)
	}
	if cmd.Context().Err() != nil {
		return failed
	}
	if o.output.Format != "" {
		err = o.output.Print(terminal.Stdout(cmd), report)
	} else {
		printReport(terminal.Stdout(cmd), report, o.replay)
	}
	return errors.Join(failed, err, verdict(report))
}

// areKnown returns an error for a name of which there is no opening.
func areKnown(namespace string, names []string, webhooks []audit.Webhook) error {
	where := ""
	if namespace != "" {
		where = " in namespace " + namespace
	}
	known := lists.Map(webhooks, func(w audit.Webhook) string { return w.Name })
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no WebhookRollout%s reports an opening of webhook %q: kubectl webhooks audit lists all webhooks that were open", where, name)
		}
	}
	return nil
}

// readLogs returns nil if there are no files.
func readLogs(files []string) (*audit.Log, error) {
	if len(files) == 0 {
		return nil, nil
	}
	log := &audit.Log{}
	for _, name := range files {
		file, err := os.Open(name) //nolint:gosec // The user names the file.
		if err != nil {
			return nil, err
		}
		err = readLog(log, file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return log, nil
}

// readLog reads whole lines. API servers write the last one while the file is read.
func readLog(log *audit.Log, from io.Reader) error {
	lines := bufio.NewReader(from)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := log.Add(line); err != nil {
			return fmt.Errorf("line %d is no event of an audit log: %w", number, err)
		}
	}
}

// verdict returns an error with the exit code of the worst result.
func verdict(r audit.Report) error {
	refused, notJudged := r.Count(audit.Refused)+r.Count(audit.Changed), r.Count(audit.NotJudged)
	unread := lists.FilterMap(r.Webhooks, func(w audit.Webhook) (string, bool) { return w.Name + ": " + w.Unread, w.Unread != "" })
	switch {
	case refused > 0:
		return exitcode.With(exitRefused, errors.New("webhooks refuse or change objects that were admitted while they were open: see the results of the replay"))
	case notJudged > 0:
		return exitcode.With(exitIncomplete, errors.New("objects were not judged: see the results of the replay"))
	case len(r.Unread)+len(unread) > 0:
		return exitcode.With(exitIncomplete, fmt.Errorf("the list is not complete: %s", strings.Join(append(unread, r.Unread...), "; ")))
	default:
		return nil
	}
}
