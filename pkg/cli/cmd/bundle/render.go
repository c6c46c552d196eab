package bundle

import (
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
)

func newRenderCommand() *cobra.Command {
	var o targetOptions
	var format flags.Objects
	cmd := &cobra.Command{
		Use:   "render DIR|IMAGE",
		Short: "Print the manifests that install a bundle, for kubectl apply --server-side -f - or a repository",
		Example: `  kubectl webhooks bundle render ./bundle | kubectl apply --server-side -f -
  kubectl webhooks bundle render ./bundle --watch-namespaces shop,stock -n shop-operator > shop-operator.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, options, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			manifests, err := bundle.Manifests(b, options)
			if err != nil {
				return err
			}
			for _, p := range b.Problems { // what is applied differently from how it is written
				terminal.Stderr(cmd).Printf("warning: %s\n", p)
			}
			out := terminal.Stdout(cmd)
			if format.Format == "" {
				format.Format = "yaml"
				out.Printf("# %s\n", b.Source)
			}
			return format.Print(out, manifests)
		},
	}
	o.add(cmd, nil)
	format.Add(cmd)
	return cmd
}
