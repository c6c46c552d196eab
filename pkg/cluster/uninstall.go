package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Stays says, of each definition of a bundle, how many objects of it there are.
func (c *Cluster) Stays(ctx context.Context, i Installation) (map[string]int, error) {
	objects, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, crd := range i.Bundle.CRDs() {
		live, err := c.definition(ctx, crd.Name)
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		counts[crd.Name] = 0
		for _, v := range live.Spec.Versions {
			if !v.Storage || !v.Served {
				continue
			}
			list, err := objects.Resource(schema.GroupVersionResource{Group: live.Spec.Group, Version: v.Name, Resource: live.Spec.Names.Plural}).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			counts[crd.Name] = len(list.Items)
		}
	}
	return counts, nil
}

// Uninstall removes what Install applied, the ClusterServiceVersion first: its webhooks go
// before what serves them. The namespace stays, and definitions unless they are to go.
func (c *Cluster) Uninstall(ctx context.Context, i Installation, definitions bool) error {
	a, err := c.applier()
	if err != nil {
		return err
	}
	reversed := slices.Clone(i.Manifests)
	slices.Reverse(reversed)
	for _, o := range reversed {
		switch o.GetKind() {
		case "Namespace":
			continue
		case "CustomResourceDefinition":
			if !definitions {
				continue
			}
		}
		if err := c.remove(ctx, a, i, o); err != nil {
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			return err
		}
	}
	return nil
}

// remove deletes one object and waits until it is gone.
func (c *Cluster) remove(ctx context.Context, a applier, i Installation, o *unstructured.Unstructured) error {
	if !a.knows(o) {
		return nil // It went with its definition.
	}
	client, err := a.clientFor(ctx, o)
	if err != nil {
		return err
	}
	err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", nameOf(o), err)
	}
	told := ""
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if why := c.heldBy(ctx, o); why != "" && why != told {
			told = why
			i.Say("waiting for %s: %s", nameOf(o), why)
		}
		return false, err
	})
	if err == nil {
		i.Say("removed %s", nameOf(o))
	}
	return err
}

// heldBy is why a ClusterServiceVersion cannot go yet.
func (c *Cluster) heldBy(ctx context.Context, o *unstructured.Unstructured) string {
	if o.GetKind() != "ClusterServiceVersion" {
		return ""
	}
	rollout, err := c.olm.ManagerV1alpha1().WebhookRollouts(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, condition := range rollout.Status.Conditions {
		if condition.Type == managerv1alpha1.ConditionConversionInUse && condition.Status == metav1.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}
