package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// completion completes the options from the installed objects. Kept reports which OperatorGroup is kept.
type completion func(*installer.Installer, context.Context, *bundle.Bundle, *bundle.Options) (kept string, err error)

func (o *installOptions) prepare(cmd *cobra.Command, reference string, complete completion) (*installer.Installer, installer.Shown, error) {
	b, options, err := o.read(cmd.Context(), reference)
	if err != nil {
		return nil, installer.Shown{}, err
	}
	config, err := o.connection.Config()
	if err != nil {
		return nil, installer.Shown{}, err
	}
	c, err := installer.New(config)
	if err != nil {
		return nil, installer.Shown{}, err
	}
	out := o.output.Messages(cmd)
	i, err := o.planInTime(cmd.Context(), c, b, options, complete)
	if refused, ok := errors.AsType[*bundle.RefusedError](err); ok {
		installer.ShowNotice(out, b, refused.Manifests, refused.Refusals...)
		return nil, installer.Shown{}, errors.New("nothing was changed: the bundle has objects that are refused, see above")
	}
	if err != nil {
		return nil, installer.Shown{}, err
	}
	i.Print = timedPrinter(out)
	return c, installer.Show(out, i), nil
}

func (o *installOptions) read(ctx context.Context, reference string) (*bundle.Bundle, bundle.Options, error) {
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, o.dryRun) {
		return nil, bundle.Options{}, fmt.Errorf("--dry-run=%s: use server, client or none", o.dryRun)
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

// planInTime does within --patience what waits for no change in the cluster, and reads no stored objects.
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
	if options.Namespaced, err = c.Scopes(ctx, b.Kinds()); err != nil {
		return installer.Installation{}, err
	}
	manifests, err := bundle.Manifests(b, options)
	if err != nil {
		return installer.Installation{}, err
	}
	i := installer.Installation{Bundle: b, Manifests: manifests, KeptGroup: kept, Timeout: o.patience, Adopted: o.adopted}
	if i.NamespaceWarning, err = c.NamespaceWarning(ctx, i.Namespace()); err != nil {
		return i, err
	}
	if err := c.UseExistingNames(ctx, i); err != nil || options.Removal {
		return i, err
	}
	if i.Result, err = c.Resulting(ctx, i); err != nil {
		return i, fmt.Errorf("nothing was changed: %w", err)
	}
	return i, checkCertificates(i.Result)
}

func timedPrinter(out output.Writer) func(format string, args ...any) {
	began := time.Now()
	return func(format string, args ...any) {
		out.Printf("%6.1fs  ", time.Since(began).Seconds())
		out.Printf(format+"\n", args...)
	}
}
