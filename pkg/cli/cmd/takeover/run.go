package takeover

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

func newRunCommand() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Let the manager take the place of olm-operator, without a restarted pod",
		Long: `Labels every ClusterServiceVersion, so that the manager does not change it yet; scales olm-operator to zero and waits for
its pods; starts the manager; then lets the manager adopt the objects of the ClusterServiceVersions, a few at a time.

Nothing is changed if something blocks the takeover: takeover plan lists that. The command stops when calls of a webhook
fail, or are slow, that were not before: it counts them in the metrics of the API servers, and dials the pods. If it is
interrupted, run it again, or go back with takeover undo.

Exit codes: 0 done; 2 something blocks the takeover; 1 failed; 130 interrupted.`,
		Example: `  kubectl webhooks takeover plan
  kubectl webhooks takeover run`,
		Args: cobra.NoArgs,
	}
	programs := newPrograms(cmd)
	o.addRun(cmd)
	o.addExecution(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := programs.connect()
		if err != nil {
			return err
		}
		plan, err := target.plan(cmd.Context(), o)
		if err != nil {
			return err
		}
		out := terminal.Stdout(cmd)
		if err := verdict(plan); err != nil {
			takeover.PrintBlockers(out, plan.Blockers)
			return err
		}
		if err := target.announceMeasurement(cmd.Context(), out); err != nil {
			return err
		}
		out.Printf("The manager takes the place of olm-operator: %s. Estimated time: %s\n", plan.Title(), time.Duration(plan.EstimateSeconds)*time.Second)
		if err := terminal.Confirm(cmd, out, o.yes, "Continue?"); err != nil {
			return err
		}
		return target.execute(cmd.Context(), o, out, takeover.Run(o.decisions))
	}
	return cmd
}
