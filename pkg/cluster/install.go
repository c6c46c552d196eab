package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// Installation is a bundle on its way into a cluster.
type Installation struct {
	Bundle    *bundle.Bundle
	Manifests []*unstructured.Unstructured
	// Patience is how long it may be in trouble before that is the diagnosis.
	Patience time.Duration
	// Say tells a person what happens.
	Say func(format string, args ...any)
}

// Namespace is the operator's own.
func (i Installation) Namespace() string { return i.Manifests[len(i.Manifests)-1].GetNamespace() }

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
	var applied []*unstructured.Unstructured
	for _, o := range i.Manifests {
		written, err := c.bring(ctx, a, i, o)
		if ctx.Err() != nil {
			return applied, ErrInterrupted
		}
		if err != nil {
			return applied, err
		}
		applied = append(applied, written)
		i.Say("applied %s", NameOf(o))
	}
	if err := c.await(ctx, i); err != nil {
		return applied, err
	}
	for _, crd := range i.Bundle.CRDs() {
		if err := c.settle(ctx, crd); err != nil {
			return applied, err
		}
	}
	return applied, nil
}

// bring writes one object of an installation: a definition as it may be before its
// operator runs, anything else as it is.
func (c *Cluster) bring(ctx context.Context, a applier, i Installation, o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	for _, crd := range i.Bundle.CRDs() {
		if o.GetKind() == "CustomResourceDefinition" && o.GetName() == crd.Name {
			return c.open(ctx, crd, i.CSV(), dryRun...)
		}
	}
	return a.apply(ctx, o, dryRun...)
}

// ErrInterrupted says that nothing is lost.
var ErrInterrupted = errors.New("interrupted: nothing is taken back, and the manager goes on by itself; run the same command again to go on")

// await tells each change until the operator is installed, or what is in the way.
func (c *Cluster) await(ctx context.Context, i Installation) error {
	told, done, began := map[string]bool{}, errors.New("done"), time.Now()
	err := c.Follow(ctx, i.Namespace(), func(ctx context.Context) error {
		csv, rollout, err := c.installed(ctx, i.Namespace(), i.Bundle.CSV.Name)
		if err != nil {
			return err
		}
		p := deploy.ProgressOf(csv, rollout, began, time.Now(), i.Patience)
		for _, line := range p.Lines {
			if !told[line] {
				i.Say("%s", line)
			}
		}
		told = map[string]bool{}
		for _, line := range p.Lines {
			told[line] = true
		}
		switch {
		case p.Diagnosis != "":
			return fmt.Errorf("it does not go on: %s", p.Diagnosis)
		case p.Done:
			return done
		default:
			return nil
		}
	})
	switch {
	case errors.Is(err, done):
		return nil
	case ctx.Err() != nil:
		return ErrInterrupted
	default:
		return err
	}
}

func (c *Cluster) installed(ctx context.Context, namespace, name string) (*operatorsv1alpha1.ClusterServiceVersion, *managerv1alpha1.WebhookRollout, error) {
	csv, err := c.olm.OperatorsV1alpha1().ClusterServiceVersions(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rollout, err := c.olm.ManagerV1alpha1().WebhookRollouts(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return csv, nil, nil
	}
	return csv, rollout, err
}

// Others are the ClusterServiceVersions of a namespace but the one of that name, and copies.
func (c *Cluster) Others(ctx context.Context, namespace, name string) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	list, err := c.olm.OperatorsV1alpha1().ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("the manager's kinds are not installed in this cluster, or may not be read: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(csv operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == name || csv.IsCopied() }), nil
}
