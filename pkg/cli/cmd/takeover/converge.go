package takeover

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

type convergeOptions struct {
	options

	all    bool
	window string
	zone   string
}

func newConvergeCommand() *cobra.Command {
	o := convergeOptions{}
	o.decisions.Concurrency = 1
	cmd := &cobra.Command{
		Use:   "converge [NAMESPACE/CSV]...",
		Short: "Bring adopted operators into the manager's own form, one after another; their pods restart",
		Long: `Brings the objects of adopted ClusterServiceVersions into the manager's own form. The pods of their Deployments are
replaced once. The command changes one ClusterServiceVersion at a time. It waits until all replicas are available and all
PodDisruptionBudgets allow a disruption. It lists Deployments with one replica before it asks.

With --window, it begins with a ClusterServiceVersion only in this time of the day. If it is interrupted, run it again.
The command stops when calls of a webhook fail, or are slow, that were not before.`,
		Example: `  kubectl webhooks takeover converge shop/operator.v1.0.0
  kubectl webhooks takeover converge --all --window 22:00-04:00 --time-zone Europe/Berlin`,
	}
	programs := newPrograms(cmd)
	o.addExecution(cmd)
	cmd.Flags().DurationVar(&o.pace, "pace", 30*time.Second, "time between the starts of two ClusterServiceVersions")
	cmd.Flags().BoolVar(&o.all, "all", false, "all ClusterServiceVersions")
	cmd.Flags().StringVar(&o.window, "window", "", "maintenance window of each day, such as 22:00-04:00")
	cmd.Flags().StringVar(&o.zone, "time-zone", "Local", "time zone of the window, such as Europe/Berlin")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.complete(args); err != nil {
			return err
		}
		target, err := programs.connect()
		if err != nil {
			return err
		}
		return o.converge(cmd, target)
	}
	return cmd
}

func (o *convergeOptions) complete(args []string) error {
	if o.all == (len(args) > 0) {
		return errors.New("name the ClusterServiceVersions as NAMESPACE/NAME, or use --all")
	}
	for _, arg := range args {
		name, err := parseCSV(arg)
		if err != nil {
			return err
		}
		o.decisions.Names = append(o.decisions.Names, name)
	}
	if o.window == "" {
		return nil
	}
	zone, err := time.LoadLocation(o.zone)
	if err != nil {
		return err
	}
	o.decisions.Window, err = takeover.ParseWindow(o.window, zone)
	return err
}

func (o *convergeOptions) converge(cmd *cobra.Command, target *target) error {
	snapshot, err := target.Snapshot(cmd.Context())
	if err != nil {
		return err
	}
	if err := target.Workloads(cmd.Context(), &snapshot); err != nil {
		return err
	}
	out := terminal.Stdout(cmd)
	if err := target.announceMeasurement(cmd.Context(), out); err != nil {
		return err
	}
	at := o.decisions
	at.Window = nil // The prediction is for the time when the window is open.
	if err := announce(out, "Pods of these ClusterServiceVersions restart once", &snapshot, takeover.NextConverge(at)); err != nil {
		return err
	}
	if single := takeover.SingleReplicas(&snapshot, at); len(single) > 0 {
		out.Printf("Deployments with one replica: %s. Their webhooks have no second pod meanwhile\n", strings.Join(single, ", "))
	}
	if err := terminal.Confirm(cmd, out, o.yes, "Continue?"); err != nil {
		return err
	}
	return target.execute(cmd.Context(), o.options, out, takeover.NextConverge(o.decisions))
}
