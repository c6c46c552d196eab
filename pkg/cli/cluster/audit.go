package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Audit reads the webhooks of operators in a namespace, or in all, that were open, only some if names are given, and the objects in their scope. A resource that
// cannot be listed is unread: its conversion webhook or its API server may be lost, too. The snapshot has no policies.
func (c *Cluster) Audit(ctx context.Context, namespace string, names []string) (audit.Facts, explain.Snapshot, error) {
	webhooks, s, err := audited(ctx, c, namespace, names)
	if err != nil {
		return audit.Facts{}, s, err
	}
	facts := audit.Facts{
		Webhooks: webhooks,
		Served:   audit.Served{Resources: s.Resources, Definitions: s.Definitions, Namespaces: s.Namespaces},
	}
	facts.Unread = audit.Undiscovered(facts.Webhooks, s.Undiscovered)
	for resource, whole := range scopeOf(facts) {
		objects, err := c.observe(ctx, resource, whole)
		switch {
		case ctx.Err() != nil:
			return facts, s, ctx.Err()
		case err == nil, apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err): // No objects of this resource are stored.
		default:
			facts.Unread = append(facts.Unread, audit.Unread{Group: resource.Group, Resource: resource.Resource, Reason: err.Error()})
		}
		facts.Objects = append(facts.Objects, objects...)
	}
	return facts, s, nil
}

// audited reads the webhooks that were open, and the registrations.
func audited(ctx context.Context, c *Cluster, namespace string, names []string) ([]audit.Webhook, explain.Snapshot, error) {
	rollouts, _, err := c.Rollouts(ctx, namespace)
	if err != nil {
		return nil, explain.Snapshot{}, err
	}
	s, err := c.registrations(ctx)
	return audit.Webhooks(rollouts, audit.Configurations{Validating: s.ValidatingWebhooks, Mutating: s.MutatingWebhooks}, names), s, err
}

// scopeOf returns the resources of all webhooks, and whether more than the metadata of their objects matters.
func scopeOf(facts audit.Facts) map[explain.Resource]bool {
	whole := map[explain.Resource]bool{}
	for _, w := range facts.Webhooks {
		for _, resource := range w.Scope(facts.Served.Resources) {
			whole[resource] = whole[resource] || w.RegardsContent()
		}
	}
	return whole
}

// observe lists the objects of a resource in pages.
func (c *Cluster) observe(ctx context.Context, resource explain.Resource, whole bool) ([]audit.Object, error) {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if whole {
			return c.Dynamic.Resource(resource.GroupVersionResource).List(ctx, options)
		}
		return c.Metadata.Resource(resource.GroupVersionResource).List(ctx, options)
	}
	var all []audit.Object
	err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		accessor, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		o := audit.Observe(resource, accessor)
		if content, is := item.(*unstructured.Unstructured); is {
			o.Content = content
		}
		all = append(all, o)
		return nil
	})
	return all, err
}

// aggregated returns the group versions that aggregated API servers serve.
func (c *Cluster) aggregated(ctx context.Context) (map[schema.GroupVersion]bool, error) {
	apis, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // The API server may stand alone.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupVersion]bool{}
	for _, a := range apis.Items {
		if a.Spec.Service != nil {
			found[schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version}] = true
		}
	}
	return found, nil
}
