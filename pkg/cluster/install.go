package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// Installation is a bundle on its way into a cluster.
type Installation struct {
	Bundle    *bundle.Bundle
	Manifests []*unstructured.Unstructured
	// Kept says that the group was there already, and stays as it is; else empty.
	Kept string
	// Patience is how long it may be in trouble before that is the diagnosis.
	Patience time.Duration
	// Say tells a person what happens.
	Say func(format string, args ...any)
}

// Namespace is the operator's own.
func (i Installation) Namespace() string { return i.Manifests[len(i.Manifests)-1].GetNamespace() }

// Watched are the namespaces that its group names; none where it is for all.
func (i Installation) Watched() []string {
	for _, o := range i.Manifests {
		if o.GetKind() == operatorsv1.OperatorGroupKind {
			watched, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "targetNamespaces") // as bundle.Manifests wrote it
			return watched
		}
	}
	return nil
}

// Applied are the manifests that are written: all, but for a group that stays as it is.
func (i Installation) Applied() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(i.Manifests), func(o *unstructured.Unstructured) bool {
		return i.Kept != "" && o.GetKind() == operatorsv1.OperatorGroupKind
	})
}

// CSV is the ClusterServiceVersion as it is installed.
func (i Installation) CSV() *operatorsv1alpha1.ClusterServiceVersion {
	csv := i.Bundle.CSV.DeepCopy()
	csv.Namespace = i.Namespace()
	return csv
}

// Install applies everything, and follows what comes of it to the end. What is there
// already is applied once more: an installation that was interrupted goes on. It returns
// what it has applied, as it was then.
func (c *Cluster) Install(ctx context.Context, i Installation) ([]*unstructured.Unstructured, error) {
	a, err := c.applier()
	if err != nil {
		return nil, err
	}
	awaited, err := c.awaited(ctx, i)
	if err != nil {
		return nil, err
	}
	var applied []*unstructured.Unstructured
	for _, o := range i.Applied() {
		written, err := c.bring(ctx, a, i, o, awaited)
		if ctx.Err() != nil {
			return applied, ErrInterrupted
		}
		if err != nil {
			return applied, err
		}
		applied = append(applied, written)
		i.Say("applied %s%s", NameOf(o), waiting(o, awaited))
	}
	v := &vigil{Cluster: c, Installation: i, subscription: subscriptionIn(applied), awaited: maps.Clone(awaited)}
	if err := v.await(ctx); err != nil {
		return applied, err
	}
	return applied, c.settle(ctx, a, i, awaited)
}

// bring writes one object of an installation: a definition as it may be before its
// operator runs, a ClusterServiceVersion that knows what it has to wait for, anything else
// as it is.
func (c *Cluster) bring(ctx context.Context, a applier, i Installation, o *unstructured.Unstructured, awaited map[string][]string, dryRun ...string) (*unstructured.Unstructured, error) {
	for _, crd := range i.Bundle.CRDs() {
		if o.GetKind() == "CustomResourceDefinition" && o.GetName() == crd.Name {
			return c.open(ctx, crd, i.CSV(), dryRun...)
		}
	}
	if o.GetKind() == operatorsv1alpha1.ClusterServiceVersionKind {
		o = awaiting(o, awaited)
	}
	return a.apply(ctx, o, dryRun...)
}

// settle writes definitions as the bundle has them, once the operator is installed, and
// tells it that there is nothing left to wait for.
func (c *Cluster) settle(ctx context.Context, a applier, i Installation, awaited map[string][]string) error {
	for _, crd := range i.Bundle.CRDs() {
		if err := c.settleDefinition(ctx, crd); err != nil {
			return err
		}
	}
	if len(awaited) == 0 {
		return nil
	}
	_, err := a.apply(ctx, i.Manifests[len(i.Manifests)-1])
	return err
}

// Others are the ClusterServiceVersions of a namespace but the one of that name, and copies.
func (c *Cluster) Others(ctx context.Context, namespace, name string) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	list, err := c.olm.OperatorsV1alpha1().ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("the manager's kinds are not installed in this cluster, or may not be read: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(csv operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == name || csv.IsCopied() }), nil
}
