package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// TryInstall asks the API server for its answer to each object, without effect, and returns
// those that it would take as it would store them. What it cannot be asked yet is said.
func (c *Cluster) TryInstall(ctx context.Context, i Installation) ([]*unstructured.Unstructured, error) {
	a, err := c.applier()
	if err != nil {
		return nil, err
	}
	awaited, err := c.awaited(ctx, i)
	if err != nil {
		return nil, err
	}
	var taken []*unstructured.Unstructured
	var refused []error
	for _, o := range i.Applied() {
		missing, err := c.missing(ctx, a, o)
		if err != nil {
			return taken, err
		}
		if missing != "" {
			i.Say("would apply %s; the API server cannot be asked before %s is there", NameOf(o), missing)
			continue
		}
		written, err := c.bring(ctx, a, i, o, awaited, metav1.DryRunAll)
		if err != nil {
			i.Say("would fail to apply %s", NameOf(o))
			refused = append(refused, err)
			continue
		}
		i.Say("would apply %s%s: the API server takes it", NameOf(o), waiting(o, awaited))
		taken = append(taken, written)
	}
	if err := errors.Join(refused...); err != nil {
		return taken, fmt.Errorf("the API server refuses:\n%w", err)
	}
	return taken, nil
}

// missing is what has to be there before the API server can judge an object: a dry run
// leaves nothing for the next one to stand on.
func (c *Cluster) missing(ctx context.Context, a applier, o *unstructured.Unstructured) (string, error) {
	if !a.knows(o) {
		return "the definition of " + o.GetKind(), nil
	}
	if o.GetNamespace() == "" {
		return "", nil
	}
	_, err := c.kube.CoreV1().Namespaces().Get(ctx, o.GetNamespace(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "namespace " + o.GetNamespace(), nil
	}
	return "", err
}

// TryUninstall asks the API server for its answer to each deletion, without effect, and
// returns the objects that are there to be removed.
func (c *Cluster) TryUninstall(ctx context.Context, i Installation, removal deploy.Removal) ([]*unstructured.Unstructured, error) {
	a, err := c.applier()
	if err != nil {
		return nil, err
	}
	var there []*unstructured.Unstructured
	var refused []error
	for _, o := range removal.Goes {
		err := a.tryDelete(ctx, o)
		switch {
		case apierrors.IsNotFound(err):
			i.Say("%s is not there", NameOf(o))
		case err != nil:
			i.Say("would fail to remove %s", NameOf(o))
			refused = append(refused, fmt.Errorf("%s: %w", NameOf(o), err))
		default:
			i.Say("would remove %s: the API server lets it go", NameOf(o))
			there = append(there, o)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return there, fmt.Errorf("the API server refuses:\n%w", err)
	}
	return there, nil
}

func (a applier) tryDelete(ctx context.Context, o *unstructured.Unstructured) error {
	if !a.knows(o) {
		return apierrors.NewNotFound(o.GroupVersionKind().GroupVersion().WithResource(o.GetKind()).GroupResource(), o.GetName())
	}
	client, err := a.clientFor(ctx, o)
	if err != nil {
		return err
	}
	return client.Delete(ctx, o.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}
