package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// Inherit completes the options for an upgrade by what the version that is replaced was
// installed with.
func (c *Cluster) Inherit(ctx context.Context, b *bundle.Bundle, o *bundle.Options) error {
	replaced, err := c.replaced(ctx, b, o.Namespace)
	if err != nil {
		return err
	}
	o.Namespace = replaced.Namespace
	if o.Watch == nil {
		groups, err := c.olm.OperatorsV1().OperatorGroups(o.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, group := range groups.Items {
			o.Watch = group.Spec.TargetNamespaces
		}
		if o.Watch == nil {
			o.Watch = []string{metav1.NamespaceAll}
		}
	}
	if o.Config != nil {
		return nil
	}
	subscriptions, err := c.olm.OperatorsV1alpha1().Subscriptions(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range subscriptions.Items {
		if s.Spec != nil && s.Spec.Package == b.Package() {
			o.Config = s.Spec.Config
		}
	}
	return nil
}

// replaced is the installed version that a bundle replaces, or the bundle's own where an
// upgrade was interrupted after that one went.
func (c *Cluster) replaced(ctx context.Context, b *bundle.Bundle, namespace string) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	list, err := c.olm.OperatorsV1alpha1().ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("the manager's kinds are not installed in this cluster, or may not be read: %w", err)
	}
	names := append(lineage.Replaced(b.CSV), b.CSV.Name)
	var found []operatorsv1alpha1.ClusterServiceVersion
	for _, csv := range list.Items {
		if !csv.IsCopied() && slices.Contains(names, csv.Name) {
			found = append(found, csv)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s replaces %s, which is not installed: install the bundle of that version first, or install this one with bundle install",
			b.CSV.Name, strings.Join(names[:len(names)-1], ", "))
	}
	for _, other := range found[1:] {
		if other.Namespace != found[0].Namespace {
			return nil, fmt.Errorf("%s is installed in the namespaces %s and %s: say which with -n", found[0].Name, found[0].Namespace, other.Namespace)
		}
	}
	return &found[0], nil
}

// Adopt gives the group and the Subscription of an installation the names of those that
// are in its namespace already: a second group would fail every operator there, and a
// second Subscription would not be the one that counts.
func (c *Cluster) Adopt(ctx context.Context, i Installation) error {
	groups, err := c.olm.OperatorsV1().OperatorGroups(i.Namespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the manager's kinds are not installed in this cluster, or may not be read: %w", err)
	}
	subscriptions, err := c.olm.OperatorsV1alpha1().Subscriptions(i.Namespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range i.Manifests {
		switch {
		case o.GetKind() == operatorsv1.OperatorGroupKind && len(groups.Items) == 1:
			o.SetName(groups.Items[0].Name)
		case o.GetKind() == operatorsv1alpha1.SubscriptionKind:
			for _, s := range subscriptions.Items {
				if s.Spec != nil && s.Spec.Package == i.Bundle.Package() {
					o.SetName(s.Name)
				}
			}
		}
	}
	return nil
}
