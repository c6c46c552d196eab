package cluster

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

// Status returns the facts about all webhooks except the answers of their pods, the ClusterServiceVersions of a
// namespace or all, and their managers. A user who asks for one namespace may not read cluster-scoped objects.
func (c *Cluster) Status(ctx context.Context, namespace string) (status.Facts, error) {
	var facts status.Facts
	var err error
	if facts.Rollouts, facts.NoRollouts, err = c.Rollouts(ctx, namespace); err != nil {
		return facts, err
	}
	facts.Facts, _, err = c.webhooks(ctx)
	if namespace != metav1.NamespaceAll && apierrors.IsForbidden(err) {
		facts.Facts, facts.RegistrationsUnread, err = doctor.Facts{}, err.Error(), nil
	}
	if err != nil {
		return facts, err
	}
	if facts.CSVs, facts.NoCSVs, err = c.csvs(ctx, namespace); err != nil {
		return facts, err
	}
	if facts.Leases, err = c.Leases(ctx, metav1.NamespaceAll); apierrors.IsForbidden(err) {
		facts.LeasesUnread, err = err.Error(), nil
	}
	return facts, err
}

// Leases returns the Leases of a namespace, or of all, that managers hold while they work.
func (c *Cluster) Leases(ctx context.Context, namespace string) ([]coordinationv1.Lease, error) {
	list, err := c.Kube.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + wellknown.FieldManager})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Rollouts are the WebhookRollouts of a namespace, or of all. A cluster need not know the kind.
func (c *Cluster) Rollouts(ctx context.Context, namespace string) (all []managerv1alpha1.WebhookRollout, unknown bool, err error) {
	list, err := c.OLM.WebhookRollouts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		unknown, err = c.isUnknownKind(ctx, err, managerv1alpha1.SchemeGroupVersion.WithResource("webhookrollouts"))
		return nil, unknown, err
	}
	return list.Items, false, nil
}
