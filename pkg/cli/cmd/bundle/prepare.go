package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// completion completes the options from the installed objects. Kept reports which OperatorGroup is kept.
type completion func(*installer.Installer, context.Context, *bundle.Bundle, *bundle.Options) (kept string, err error)

func (o *installOptions) prepare(cmd *cobra.Command, reference string, complete completion) (*installer.Installer, installer.Installation, error) {
	b, options, err := o.read(cmd.Context(), reference)
	if err != nil {
		return nil, installer.Installation{}, err
	}
	config, err := o.connection.Config()
	if err != nil {
		return nil, installer.Installation{}, err
	}
	c, err := installer.New(config)
	if err != nil {
		return nil, installer.Installation{}, err
	}
	out := o.output.Messages(cmd)
	i, err := o.planInTime(cmd.Context(), c, b, options, complete)
	var refused *bundle.RefusedError
	if errors.As(err, &refused) {
		introduce(out, b, refused.Manifests, refused.Refusals...)
		return nil, installer.Installation{}, errors.New("nothing was changed: the bundle has objects that are refused, see above")
	}
	if err != nil {
		return nil, installer.Installation{}, err
	}
	i.Print = timedPrinter(out)
	if bundle.BelongsToKubernetes(i.Namespace()) {
		out.Printf("warning: namespace %s belongs to Kubernetes: objects there can give rights by their name alone\n", i.Namespace())
	}
	introduce(out, b, i.Manifests)
	if suggested, suggests := b.AuthorsNamespace(); suggests && suggested != i.Namespace() {
		out.Printf("warning: the bundle suggests namespace %s, and the namespace of this command is %s\n", suggested, i.Namespace())
	}
	if i.KeptGroup != "" {
		out.Printf("%s\n", i.KeptGroup)
	}
	return c, i, nil
}

func (o *installOptions) read(ctx context.Context, reference string) (*bundle.Bundle, bundle.Options, error) {
	if err := o.check(); err != nil {
		return nil, bundle.Options{}, err
	}
	o.registry.patience = o.patience
	b, err := o.registry.open(ctx, reference)
	if err != nil {
		return nil, bundle.Options{}, err
	}
	if err := b.Err(); err != nil {
		return nil, bundle.Options{}, err
	}
	if o.dryRun == dryRunClient {
		if o.waivers, err = waiversOf(reference, ""); err != nil {
			return nil, bundle.Options{}, err
		}
	}
	options, err := o.options()
	return b, options, err
}

// planInTime plans within --patience: nothing of it waits for a change in the cluster.
func (o *installOptions) planInTime(ctx context.Context, c *installer.Installer, b *bundle.Bundle, options bundle.Options, complete completion) (installer.Installation, error) {
	patience := cmp.Or(o.patience, deploy.DefaultTimeout)
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	i, err := o.plan(limited, c, b, options, complete)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return i, fmt.Errorf("the API server has not answered within %s (--patience): %w", patience, err)
	}
	return i, err
}

func (o *installOptions) plan(ctx context.Context, c *installer.Installer, b *bundle.Bundle, options bundle.Options, complete completion) (installer.Installation, error) {
	kept, err := complete(c, ctx, b, &options)
	if err != nil {
		return installer.Installation{}, err
	}
	options.Config = o.withCertificates(options.Config)
	if err := checkConfig(options.Config); err != nil {
		return installer.Installation{}, err
	}
	if options.Namespaced, err = c.Scopes(ctx, b.Kinds()); err != nil {
		return installer.Installation{}, err
	}
	manifests, err := bundle.Manifests(b, options)
	if err != nil {
		return installer.Installation{}, err
	}
	i := installer.Installation{Bundle: b, Manifests: manifests, KeptGroup: kept, Timeout: o.patience, Adopted: o.adopted}
	return i, c.UseExistingNames(ctx, i)
}

func introduce(out output.Writer, b *bundle.Bundle, manifests []*unstructured.Unstructured, refusals ...bundle.Refusal) {
	out.Printf("%s, from %s\n", b.CSV.Name, b.Source)
	warn(out, b)
	show.Of(b, manifests, refusals...).PrintNotice(out)
}
