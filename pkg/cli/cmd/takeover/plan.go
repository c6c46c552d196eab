package takeover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// exitBlocked is the exit code of plan and run if something blocks the takeover.
const exitBlocked = 2

func newPlanCommand() *cobra.Command {
	format, o := flags.Output{}, options{}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what takeover run would do, and what blocks it",
		Long: `Shows for each ClusterServiceVersion the objects that the manager adopts as they are, what changes in them, when, and
whether pods restart; then the writes of takeover run, the estimated time, and what blocks it, with the remedy.

The command writes nothing. It reads certificates through port-forwards, which need the permission to create
pods/portforward.

Exit codes: 0 takeover run can run; 2 something blocks it; 1 the cluster could not be read.`,
		Args: cobra.NoArgs,
	}
	programs := newPrograms(cmd)
	format.Add(cmd, "json", "yaml")
	o.addRun(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := programs.connect()
		if err != nil {
			return err
		}
		plan, err := target.plan(cmd.Context(), o)
		if err != nil {
			return err
		}
		if format.Format == "" {
			plan.Print(terminal.Stdout(cmd))
		} else if err := format.Print(terminal.Stdout(cmd), plan); err != nil {
			return err
		}
		return verdict(plan)
	}
	return cmd
}

func verdict(plan takeover.Plan) error {
	if len(plan.Blockers) > 0 {
		return exitcode.With(exitBlocked, errors.New("the takeover is blocked: see the list of what blocks it"))
	}
	return nil
}

func (t *target) plan(ctx context.Context, o options) (takeover.Plan, error) {
	snapshot, err := t.Snapshot(ctx)
	if err != nil {
		return takeover.Plan{}, err
	}
	if err := t.Workloads(ctx, &snapshot); err != nil {
		return takeover.Plan{}, err
	}
	unread, err := t.Forms(ctx, &snapshot)
	if err != nil {
		return takeover.Plan{}, err
	}
	notChecked, err := t.Registrations(ctx, &snapshot, time.Now())
	if err != nil {
		return takeover.Plan{}, err
	}
	if err := t.Access(ctx, &snapshot); err != nil {
		return takeover.Plan{}, err
	}
	unmeasured, err := t.unmeasured(ctx)
	if err != nil {
		return takeover.Plan{}, err
	}
	return takeover.PlanOf(&snapshot, o.decisions, o.acceptEdits, o.pace, append(unmeasured, lists.Sorted(slices.Concat(snapshot.NotChecked, notChecked, unread))...)), nil
}
