package installer

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

func controllerIn(ctx context.Context, c *cluster.Cluster, namespace string) (string, error) {
	deployments, err := c.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	leases, err := c.Leases(ctx, namespace)
	return deploy.ControllerIn(deployments.Items, leases, time.Now()), err
}

// checkSuggested returns an error for a namespace that the author of a bundle must not choose.
func (c *Installer) checkSuggested(ctx context.Context, namespace string) error {
	const choose = "choose another one with -n NAMESPACE, or allow it with -n "
	if bundle.BelongsToKubernetes(namespace) {
		return fmt.Errorf("the bundle is made for namespace %s, which belongs to Kubernetes: %s", namespace, choose+namespace)
	}
	controller, err := controllerIn(ctx, c.Cluster, namespace)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the bundle is made for namespace %s, and whether the manager or OLM runs there cannot be read: %w: %s", namespace, err, choose+namespace)
	case err != nil:
		return err
	case controller != "":
		return fmt.Errorf("the bundle is made for namespace %s, which is that of %s: pods there can use its ServiceAccount, which controls the cluster: %s", namespace, controller, choose+namespace)
	}
	return nil
}

// NamespaceWarning returns what an administrator has to know of the namespace that an installation has; empty for nothing.
func (c *Installer) NamespaceWarning(ctx context.Context, namespace string) (string, error) {
	if bundle.BelongsToKubernetes(namespace) {
		return fmt.Sprintf("namespace %s belongs to Kubernetes: objects there can give rights by their name alone", namespace), nil
	}
	controller, err := controllerIn(ctx, c.Cluster, namespace)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("whether the manager or OLM runs in namespace %s cannot be read: %v", namespace, err), nil
	case err != nil || controller == "":
		return "", err
	}
	return fmt.Sprintf("namespace %s is that of %s: pods there can use its ServiceAccount, which controls the cluster", namespace, controller), nil
}
