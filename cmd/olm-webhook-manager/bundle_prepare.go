package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cluster"
)

// completion takes what the flags leave open from what is installed already. Kept says what
// of that stays as it is.
type completion func(*cluster.Cluster, context.Context, *bundle.Bundle, *bundle.Options) (kept string, err error)

// prepare plans what the flags ask for, and shows what it is about.
func (o *installOptions) prepare(cmd *cobra.Command, reference string, complete completion) (*cluster.Cluster, cluster.Installation, error) {
	b, options, err := o.read(cmd.Context(), reference)
	if err != nil {
		return nil, cluster.Installation{}, err
	}
	c, err := o.flags.connect()
	if err != nil {
		return nil, cluster.Installation{}, err
	}
	i, err := o.plan(cmd.Context(), c, b, options, complete)
	if err != nil {
		return nil, cluster.Installation{}, err
	}
	out := o.output.tellsOn(cmd)
	i.Say = teller(out)
	introduce(out, i)
	return c, i, nil
}

// read is all that needs no cluster: the bundle, and what the flags say.
func (o *installOptions) read(ctx context.Context, reference string) (*bundle.Bundle, bundle.Options, error) {
	if err := o.check(); err != nil {
		return nil, bundle.Options{}, err
	}
	b, err := o.registry.open(ctx, reference)
	if err != nil {
		return nil, bundle.Options{}, err
	}
	if err := b.Err(); err != nil {
		return nil, bundle.Options{}, err
	}
	options, err := o.options()
	return b, options, err
}

// plan makes a bundle's manifests for a cluster. What is installed there already may choose
// what the flags do not, and has names that stay.
func (o *installOptions) plan(ctx context.Context, c *cluster.Cluster, b *bundle.Bundle, options bundle.Options, complete completion) (cluster.Installation, error) {
	kept, err := complete(c, ctx, b, &options)
	if err != nil {
		return cluster.Installation{}, err
	}
	options.Config = o.withCertificates(options.Config)
	manifests, err := bundle.Manifests(b, options)
	if err != nil {
		return cluster.Installation{}, err
	}
	i := cluster.Installation{Bundle: b, Manifests: manifests, Kept: kept, Patience: o.patience}
	return i, c.Adopt(ctx, i)
}

// introduce shows what an installation intercepts, and what of the cluster it leaves as it is.
func introduce(out io.Writer, i cluster.Installation) {
	fmt.Fprintf(out, "%s, from %s\n", i.Bundle.CSV.Name, i.Bundle.Source)
	show.Of(i.Bundle, i.Watched()).PrintWebhooks(out)
	if i.Kept != "" {
		fmt.Fprintln(out, i.Kept)
	}
}

// withCertificates puts the choice of an issuer where the manager looks for it.
func (o *installOptions) withCertificates(config *operatorsv1alpha1.SubscriptionConfig) *operatorsv1alpha1.SubscriptionConfig {
	chosen := map[string]string{vocabulary.AnnotationCertificates: o.certificates, vocabulary.AnnotationChosenIssuer: o.issuer}
	for annotation, value := range chosen {
		if value == "" {
			continue
		}
		if config == nil {
			config = &operatorsv1alpha1.SubscriptionConfig{}
		}
		if config.Annotations == nil {
			config.Annotations = map[string]string{}
		}
		config.Annotations[annotation] = value
	}
	return config
}
