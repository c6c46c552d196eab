// Package status has the command that shows the status of webhooks.
package status

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

type options struct {
	namespace string // empty: all
	output    flags.Output
}

// NewCommand returns the command status.
func NewCommand() *cobra.Command {
	connection, o, all, watch := flags.NewCluster(), options{}, false, false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every webhook of every ClusterServiceVersion: live or why not, its certificate, its last problem",
		Long: `Shows every webhook that a ClusterServiceVersion declares. With -A, it also shows the
registrations that belong to no ClusterServiceVersion, and their problems. Without -A,
a user who may not read registrations gets the states that the manager reported last,
with a note.`,
		Example: `  kubectl webhooks status -n shop
  kubectl webhooks status -A --watch
  kubectl webhooks status -A -o json | jq '.webhooks[] | select(.state != "Registered")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			if !all {
				if o.namespace, err = connection.CurrentNamespace(); err != nil {
					return err
				}
			}
			if !watch {
				return o.show(cmd.Context(), c, terminal.Stdout(cmd))
			}
			return o.watch(cmd.Context(), c, terminal.Stdout(cmd))
		},
	}
	connection.Add(cmd, cmd.Flags())
	o.output.Add(cmd, flags.Wide, "json", "yaml", "name")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces, and the registrations that belong to no ClusterServiceVersion")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print the status again after each change")
	return cmd
}

func (o options) read(ctx context.Context, c *cluster.Cluster) (status.Status, error) {
	facts, err := c.Status(ctx, o.namespace)
	return status.Of(facts, o.namespace, time.Now()), err
}

func (o options) show(ctx context.Context, c *cluster.Cluster, to output.Writer) error {
	s, err := o.read(ctx, c)
	if err != nil {
		return err
	}
	return o.print(to, s)
}

func (o options) print(to output.Writer, s status.Status) error {
	return o.output.PrintRows(to, s, s.Names(), func(wide bool) { s.Print(to, wide, time.Now()) })
}

func (o options) watch(ctx context.Context, c *cluster.Cluster, to output.Writer) error {
	var last status.Status
	first := true
	return c.Watch(ctx, o.namespace, cluster.ResyncPeriod, func(ctx context.Context) error {
		s, err := o.read(ctx, c)
		if err != nil || (!first && s.Same(last)) {
			return err
		}
		if !first && (o.output.Format == "" || o.output.Format == flags.Wide) {
			to.Printf("\n%s\n", time.Now().Format(time.TimeOnly))
		}
		first, last = false, s
		return o.print(to, s)
	})
}

// PrintWide prints the status of a namespace as "status -o wide" does.
func PrintWide(ctx context.Context, c *cluster.Cluster, namespace string, to output.Writer) error {
	return options{namespace: namespace, output: flags.Output{Format: flags.Wide}}.show(ctx, c, to)
}
