package manager

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
)

type removeOptions struct {
	connection flags.Cluster
	namespace  string
	deployment string
	namespaces []string
	limited    bool // namespaces are given, if only as none
	dryRun     bool
	yes        bool
}

// NewRemoveCommand returns the command remove-manager.
func NewRemoveCommand() *cobra.Command {
	o := removeOptions{connection: flags.NewCluster().InNamespace("olm-webhook-manager")}
	cmd := &cobra.Command{
		Use:        "remove-manager",
		SuggestFor: []string{"uninstall", "remove", "delete"},
		Short:      "Stop the manager, unregister all webhooks, and remove all finalizers",
		Long: `Scales the manager's Deployment to zero, unregisters all webhooks, removes the conversions that no stored object
needs, revokes the permissions that --lift-roles granted, and removes the manager's finalizer from all
ClusterServiceVersions. It does so in the namespaces of the manager's flag --namespaces, or in all namespaces.
Operators keep running, without webhooks.

The command lists the objects that it deletes and changes, and asks for confirmation. With --dry-run, it only
lists them. It changes nothing if the API server would refuse one of the changes. If it is interrupted, run it again.
It returns an error if OLM v0 or another manager runs for one of these namespaces.

To remove one operator, use "bundle uninstall".

Afterwards, delete manifests/manager (with Helm: the release, with helm uninstall) and manifests/crds with
kubectl delete -k. Delete manifests/crds/olm only to remove all operators, too: operators are deleted with their
ClusterServiceVersions.`,
		Example: `  kubectl webhooks remove-manager --dry-run
  kubectl webhooks remove-manager`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.namespace, o.limited = *o.connection.Namespace, cmd.Flags().Changed(coexistence.NamespacesFlag)
			return removeManager(cmd, o)
		},
	}
	o.connection.Add(cmd, cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "namespace of the manager's Deployment"
	cmd.Flags().StringVar(&o.deployment, "deployment", "olm-webhook-manager", "name of the manager's Deployment")
	cmd.Flags().StringSliceVar(&o.namespaces, coexistence.NamespacesFlag, nil, "namespaces of the manager; empty: all (default: --namespaces of its Deployment)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "list the objects that would be deleted and changed, and change nothing")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

func removeManager(cmd *cobra.Command, o removeOptions) error {
	ctx := cmd.Context()
	config, err := o.connection.Config()
	if err != nil {
		return err
	}
	clients, err := clients.New(config)
	if err != nil {
		return err
	}
	d, err := clients.Kube.AppsV1().Deployments(o.namespace).Get(ctx, o.deployment, metav1.GetOptions{})
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return err
	}
	if o.namespaces, err = o.lookedAfter(d, gone); err != nil {
		return err
	}
	if err := coexistence.RefuseOLM(ctx, clients.Kube, o.namespaces); err != nil {
		return err
	}
	own := types.NamespacedName{Namespace: o.namespace, Name: o.deployment}
	if err := coexistence.RefuseOtherManagers(ctx, clients.Kube, own, !gone, o.namespaces, time.Now()); err != nil {
		return err
	}
	plan, held := uninstall.ManagerPlan(ctx, config, o.namespaces...)
	stop := stopping{kube: clients.Kube, deployment: d, out: terminal.Stdout(cmd)}
	if !gone {
		refused, err := stop.check(ctx)
		if err != nil {
			return err
		}
		plan.Writes = append([]string{fmt.Sprintf("scale deployments.apps %s to 0", own)}, plan.Writes...)
		plan.Refused = append(refused, plan.Refused...)
	}
	if err := o.announce(terminal.Stdout(cmd), plan, held); err != nil || o.dryRun {
		return err
	}
	if err := terminal.Confirm(cmd, terminal.Stdout(cmd), o.yes, "Continue?"); err != nil {
		return err
	}
	if !gone {
		if err := stop.stop(ctx); err != nil {
			return err
		}
	}
	return uninstall.Manager(ctx, clients, terminal.Logger(cmd), o.namespaces...)
}

// announce lists what the command does. What is held stays. A refused request and any other error end the command.
func (o removeOptions) announce(to output.Writer, plan uninstall.Plan, err error) error {
	var held uninstall.HeldError
	if err != nil && !errors.As(err, &held) {
		return err
	}
	where := "all namespaces"
	if len(o.namespaces) > 0 {
		where = "namespaces " + strings.Join(o.namespaces, ", ")
	}
	to.Printf("The manager of %s is removed. Operators keep running, without webhooks:\n", where)
	for _, w := range plan.Writes {
		to.Printf("  %s\n", w)
	}
	if len(plan.Writes) == 0 {
		to.Printf("  nothing is left to delete or change\n")
	}
	for _, h := range held.Held {
		to.Printf("Kept: %s\n", h)
	}
	for _, r := range plan.Refused {
		to.Printf("Refused: %s\n", r)
	}
	if n := len(plan.Refused); n > 0 {
		return fmt.Errorf("nothing was changed, because the API server refuses %s: grant the permission that the user lacks, or change the policy or the webhook that refuses this; then run the command again", output.Counted(n, "request"))
	}
	return nil
}

// lookedAfter returns the manager's namespaces; none means all. Objects of other managers have the same finalizers.
func (o removeOptions) lookedAfter(d *appsv1.Deployment, gone bool) ([]string, error) {
	switch {
	case o.limited:
		return o.namespaces, nil
	case gone:
		return nil, fmt.Errorf("deployment %s/%s does not exist, and only its arguments list the namespaces that the manager was limited to: name the Deployment with -n and --deployment, or the namespaces with --%s (--%[3]s= for all)",
			o.namespace, o.deployment, coexistence.NamespacesFlag)
	default:
		return coexistence.LimitedTo(*d)
	}
}
