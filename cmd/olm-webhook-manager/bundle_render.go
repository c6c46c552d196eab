package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

func bundleRenderCommand() *cobra.Command {
	var o targetOptions
	var output objectsFlag
	cmd := &cobra.Command{
		Use:   "render DIR|IMAGE",
		Short: "Print the manifests that install a bundle, for kubectl apply --server-side -f - or a repository",
		Example: `  olm-webhook-manager bundle render ./bundle | kubectl apply --server-side -f -
  olm-webhook-manager bundle render ./bundle --watch-namespaces shop,stock -n shop-operator > shop-operator.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			return render(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], o, output)
		},
	}
	o.add(cmd, nil)
	output.add(cmd)
	return cmd
}

func render(ctx context.Context, out, hints io.Writer, reference string, o targetOptions, output objectsFlag) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	b, err := o.registry.open(ctx, reference)
	if err != nil {
		return err
	}
	manifests, err := bundle.Manifests(b, options)
	if err != nil {
		return err
	}
	for _, p := range b.Problems {
		fmt.Fprintf(hints, "warning: %s\n", p)
	}
	if output.format == "" {
		output.format = "yaml"
		fmt.Fprintf(out, "# %s\n", b.Source)
	}
	return output.print(out, manifests)
}
