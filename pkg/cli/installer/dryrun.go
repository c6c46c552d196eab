package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// Resulting returns the manifests with the config that an existing Subscription will have, by a dry run: server-side apply
// leaves the fields of other clients. The dry run overwrites, as the installation does where it is allowed to.
func (c *Installer) Resulting(ctx context.Context, i Installation) ([]*unstructured.Unstructured, error) {
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(i.Manifests)
	for n, o := range all {
		if !groupkind.Is(o, groupkind.Subscription) {
			continue
		}
		live, err := a.live(ctx, o)
		if err != nil || live == nil {
			return all, err
		}
		answer, err := a.apply(ctx, deploy.Step{Object: o, Live: live, Action: deploy.Overwrite}, metav1.DryRunAll)
		if err != nil {
			return nil, err
		}
		all[n] = o.DeepCopy()
		unstructured.RemoveNestedField(all[n].Object, "spec", "config")
		if config, has, _ := unstructured.NestedMap(answer.Object, "spec", "config"); has {
			if err := unstructured.SetNestedMap(all[n].Object, config, "spec", "config"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// DryRunInstall prints the API server's answer to each object of a plan, and returns the objects that it would store.
func (c *Installer) DryRunInstall(p Plan) ([]*unstructured.Unstructured, error) {
	var taken []*unstructured.Unstructured
	for n, s := range p.steps {
		switch {
		case s.Unchecked != "":
			p.Print("would apply %s; the API server cannot validate it before %s exists", deploy.Title(s.Object), s.Unchecked)
		case p.answers[n] == nil:
			p.Print("would fail to apply %s", deploy.Title(s.Object))
		case s.Action == deploy.Keep:
			p.Print("would keep %s: it is as the bundle has it", deploy.Title(s.Object))
		default:
			p.Print("would apply %s%s: the API server takes it", deploy.Title(s.Object), awaitedNote(s.Object, p.awaited))
			taken = append(taken, p.answers[n])
		}
	}
	return taken, p.Err()
}

// DryRunUninstall prints the API server's answer to each deletion, and returns the objects that exist. Of the records, it
// asks for permissions only.
func (c *Installer) DryRunUninstall(ctx context.Context, i Installation, removal deploy.Removal) ([]*unstructured.Unstructured, error) {
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	refused, err := c.unremovable(ctx, a, i, removal, nil) // The API server answers about each object.
	if err != nil {
		return nil, err
	}
	var there []*unstructured.Unstructured
	for _, o := range removal.Delete {
		err := a.dryRunDelete(ctx, o)
		switch {
		case apierrors.IsNotFound(err):
			i.Print("%s does not exist", deploy.Title(o))
		case err != nil:
			i.Print("would fail to remove %s", deploy.Title(o))
			refused = append(refused, fmt.Errorf("%s: %w", deploy.Title(o), err))
		default:
			i.Print("would remove %s: the API server accepts the deletion", deploy.Title(o))
			there = append(there, o)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return there, fmt.Errorf("the API server refuses:\n%w", err)
	}
	return there, nil
}

func (a applier) dryRunDelete(ctx context.Context, o *unstructured.Unstructured) error {
	served, err := a.inServedVersion(ctx, o)
	if err != nil {
		return err
	}
	if served == nil {
		return apierrors.NewNotFound(o.GroupVersionKind().GroupVersion().WithResource(o.GetKind()).GroupResource(), o.GetName())
	}
	client, err := a.clientFor(ctx, served)
	if err != nil {
		return err
	}
	return client.Delete(ctx, o.GetName(), deleteOptions(o, metav1.DryRunAll))
}
