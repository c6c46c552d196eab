package takeover

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// options are the flags of the commands that change a cluster.
type options struct {
	decisions   takeover.Options
	acceptEdits bool
	pace        time.Duration
	timeout     time.Duration
	observe     time.Duration
	yes         bool
}

// addRun adds the flags on which the plan depends.
func (o *options) addRun(cmd *cobra.Command) {
	o.addPace(cmd)
	o.addManager(cmd)
	cmd.Flags().BoolVar(&o.acceptEdits, "accept-edits", false, "continue although other clients changed objects: the manager may revert the changes and restart the pods")
}

func (o *options) addManager(cmd *cobra.Command) {
	addPositive(cmd.Flags(), &o.decisions.ManagerReplicas, "manager-replicas", 2, "replicas with which the manager starts")
}

func (o *options) addPace(cmd *cobra.Command) {
	addPositive(cmd.Flags(), &o.decisions.Concurrency, "concurrency", 4, "ClusterServiceVersions that change at the same time")
	cmd.Flags().DurationVar(&o.pace, "pace", time.Second, "time between the starts of two ClusterServiceVersions")
}

// addExecution adds the flags about how the command waits and asks.
func (o *options) addExecution(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long the command waits for one condition, except for a maintenance window")
	cmd.Flags().DurationVar(&o.observe, "observe", 10*time.Second, "how long calls of webhooks are counted before the first change: webhooks whose calls fail then do not stop the command")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
}
