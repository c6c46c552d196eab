package takeover

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

func newUndoCommand() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Give everything back to olm-operator",
		Long: `Waits until no CustomResourceDefinition has a version or a conversion that is held; lets the manager bring all objects
into a form that olm-operator accepts without a rollout; stops the manager and deletes its MutatingAdmissionPolicy;
starts olm-operator; then removes the labels of the ClusterServiceVersions that are Succeeded, and the WebhookRollouts.

It works after takeover run and takeover converge, and also if one of them was interrupted. If it is interrupted itself,
run it again. The command stops when calls of a webhook fail, or are slow, that were not before. It changes nothing while
olm-operator runs and a ClusterServiceVersion is not given back.

A ClusterServiceVersion that is not Succeeded keeps the command waiting. The message has the cause. With --accept, the
command gives it back last, as far as it is, and does not wait for it.

olm-operator requires each annotation of a ClusterServiceVersion in the pods. If one was set since the last rollout of the
Deployment, its pods restart: the command lists the annotations and changes nothing, unless --accept-restarts is set.

Afterwards, remove the manager: kubectl delete -k manifests/with-olm, then kubectl delete -k manifests/crds.`,
		Example: `  kubectl webhooks takeover undo
  kubectl webhooks takeover undo --accept shop/operator.v1.0.0`,
		Args: cobra.NoArgs,
	}
	programs := newPrograms(cmd)
	o.addPace(cmd)
	o.addManager(cmd)
	o.addExecution(cmd)
	addPositive(cmd.Flags(), &o.decisions.OLMReplicas, "olm-replicas", 1, "replicas with which olm-operator starts")
	addCSVs(cmd.Flags(), &o.decisions.Accepted, "accept", "`NAMESPACE/NAME` of a ClusterServiceVersion that keeps the command waiting: it is given back as far as it is, and olm-operator may replace its pods; may be repeated")
	cmd.Flags().BoolVar(&o.decisions.AcceptRestarts, "accept-restarts", false, "restart pods that lack an annotation of their ClusterServiceVersion")
	cmd.Flags().DurationVar(&o.decisions.Settle, "settle", 30*time.Second, "how long olm-operator must be available before the labels are removed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := programs.connect()
		if err != nil {
			return err
		}
		snapshot, err := target.Snapshot(cmd.Context())
		if err != nil {
			return err
		}
		if d := snapshot.Unknown(o.decisions.Accepted); d.Blocked != "" {
			return exitcode.With(exitBlocked, errors.New(d.Blocked))
		}
		if err := target.Workloads(cmd.Context(), &snapshot); err != nil {
			return err
		}
		out := terminal.Stdout(cmd)
		if err := target.announceMeasurement(cmd.Context(), out); err != nil {
			return err
		}
		if err := announce(out, "olm-operator gets its place back", &snapshot, takeover.Undo(o.decisions)); err != nil {
			return err
		}
		if err := terminal.Confirm(cmd, out, o.yes, "Continue?"); err != nil {
			return err
		}
		return target.execute(cmd.Context(), o, out, takeover.Undo(o.decisions))
	}
	return cmd
}
