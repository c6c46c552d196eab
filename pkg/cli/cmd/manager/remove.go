package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

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
lists them. If it is interrupted, run it again. It returns an error if OLM v0 or another manager runs for one of
these namespaces.

To remove one operator, use "bundle uninstall".

Afterwards, delete manifests/manager and manifests/crds with kubectl delete -k. Delete manifests/crds/olm only to
remove all operators, too: operators are deleted with their ClusterServiceVersions.`,
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
	if err := coexistence.RefuseBesideOLM(ctx, clients.Kube, o.namespaces); err != nil {
		return err
	}
	own := types.NamespacedName{Namespace: o.namespace, Name: o.deployment}
	if err := coexistence.RefuseOtherManagers(ctx, clients.Kube, own, !gone, o.namespaces, time.Now()); err != nil {
		return err
	}
	writes, held := uninstall.ManagerPlan(ctx, config, o.namespaces...)
	if !gone {
		writes = append([]string{fmt.Sprintf("scale deployments.apps %s to 0", own)}, writes...)
	}
	if err := o.announce(terminal.Stdout(cmd), writes, held); err != nil || o.dryRun {
		return err
	}
	if err := terminal.Confirm(cmd, terminal.Stdout(cmd), o.yes, "Continue?"); err != nil {
		return err
	}
	if !gone {
		if err := stopManager(ctx, clients.Kube, o, d); err != nil {
			return err
		}
	}
	return uninstall.Manager(ctx, clients, terminal.Logger(cmd), o.namespaces...)
}

// announce lists what the command does. What is held stays; any other error ends the command.
func (o removeOptions) announce(to output.Writer, writes []string, err error) error {
	var held uninstall.HeldError
	if err != nil && !errors.As(err, &held) {
		return err
	}
	where := "all namespaces"
	if len(o.namespaces) > 0 {
		where = "namespaces " + strings.Join(o.namespaces, ", ")
	}
	to.Printf("The manager of %s is removed. Operators keep running, without webhooks:\n", where)
	for _, w := range writes {
		to.Printf("  %s\n", w)
	}
	if len(writes) == 0 {
		to.Printf("  nothing is left to delete or change\n")
	}
	for _, h := range held.Held {
		to.Printf("Kept: %s\n", h)
	}
	return nil
}

// lookedAfter returns the manager's namespaces; none means all. Objects of other managers have the same finalizers.
func (o removeOptions) lookedAfter(d *appsv1.Deployment, gone bool) ([]string, error) {
	switch {
	case o.limited:
		return o.namespaces, nil
	case gone:
		return nil, fmt.Errorf("deployment %s/%s does not exist, and only its arguments say which namespaces the manager was limited to: name the Deployment with -n and --deployment, or the namespaces with --%s (--%[3]s= for all)",
			o.namespace, o.deployment, coexistence.NamespacesFlag)
	default:
		return coexistence.LimitedTo(*d)
	}
}

func stopManager(ctx context.Context, kube kubernetes.Interface, o removeOptions, d *appsv1.Deployment) error {
	deployments := kube.AppsV1().Deployments(o.namespace)
	none := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.deployment}}
	if _, err := deployments.UpdateScale(ctx, o.deployment, none, metav1.UpdateOptions{}); err != nil {
		return err
	}
	behind := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := kube.CoreV1().Pods(o.namespace).List(ctx, behind)
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("pods of deployment %s/%s still exist, and would undo what this command does: %w", o.namespace, o.deployment, err)
	}
	return nil
}
