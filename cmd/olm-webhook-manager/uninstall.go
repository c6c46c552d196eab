package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// uninstallOptions are the flags of uninstall.
type uninstallOptions struct {
	flags      clusterFlags
	namespace  string
	deployment string
}

func uninstallCommand() *cobra.Command {
	o := uninstallOptions{flags: newClusterFlags().inNamespace("olm-webhook-manager")}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the manager and leave nothing that waits for it",
		Long: "Scales the manager's Deployment to zero, unregisters all webhooks, ends conversions that no object needs, revokes permissions that --lift-roles\n" +
			"granted, and removes the finalizers of all ClusterServiceVersions. Operators go on running, without webhooks. It may be run again. The rest is kubectl\n" +
			"delete -k manifests/manager and manifests/crds. Leave manifests/crds/olm: operators go with their ClusterServiceVersions.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.namespace = *o.flags.Namespace
			return uninstall(cmd.Context(), o)
		},
	}
	o.flags.add(cmd, cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "namespace of the manager's Deployment"
	cmd.Flags().StringVar(&o.deployment, "deployment", "olm-webhook-manager", "name of the manager's Deployment")
	return cmd
}

func uninstall(ctx context.Context, o uninstallOptions) error {
	config, err := o.flags.config()
	if err != nil {
		return err
	}
	clients, err := controller.NewClients(config)
	if err != nil {
		return err
	}
	if err := stopManager(ctx, clients.Kube, o); err != nil {
		return err
	}
	return controller.Farewell(ctx, clients, logrus.NewEntry(logrus.StandardLogger()))
}

// stopManager returns when no pod of the manager is left. It is no error when there is no
// Deployment: then nobody has to be stopped.
func stopManager(ctx context.Context, kube kubernetes.Interface, o uninstallOptions) error {
	deployments := kube.AppsV1().Deployments(o.namespace)
	d, err := deployments.Get(ctx, o.deployment, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	none := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.deployment}}
	if _, err := deployments.UpdateScale(ctx, o.deployment, none, metav1.UpdateOptions{}); err != nil {
		return err
	}
	behind := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := kube.CoreV1().Pods(o.namespace).List(ctx, behind)
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("pods of deployment %s/%s are still there, and would undo what this command does: %w", o.namespace, o.deployment, err)
	}
	return nil
}
