package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

func bundleRenderCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "render DIR|IMAGE",
		Short: "Print the manifests that install a bundle, for kubectl apply --server-side -f - or a repository",
		Example: `  olm-webhook-manager bundle render ./bundle | kubectl apply --server-side -f -
  olm-webhook-manager bundle render ./bundle --watch-namespaces shop,stock -n shop-operator > shop-operator.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return render(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], o)
		},
	}
	o.add(cmd)
	return cmd
}

func render(ctx context.Context, out, hints io.Writer, reference string, o targetOptions) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	b, err := bundle.Open(ctx, reference)
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
	fmt.Fprintf(out, "# %s\n", b.Source)
	return writeYAML(out, manifests)
}

func writeYAML(out io.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
