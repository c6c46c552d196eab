package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

type statusOptions struct {
	namespace string // empty: all
	output    outputFlag
}

func statusCommand() *cobra.Command {
	flags, o, all, watch := newClusterFlags(), statusOptions{}, false, false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every webhook of every ClusterServiceVersion: live or why not, its certificate, its last problem",
		Long: `Shows every webhook that a ClusterServiceVersion declares. With -A it also shows the
registrations of the cluster that no ClusterServiceVersion stands behind, and which of
them point to nothing. Without -A, whoever may not read those registrations is shown what
the manager said last, and told so.`,
		Example: `  kubectl webhooks status -n shop
  kubectl webhooks status -A --watch
  kubectl webhooks status -A -o json | jq '.webhooks[] | select(.state != "Registered")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.output.check(); err != nil {
				return err
			}
			c, err := flags.connect()
			if err != nil {
				return err
			}
			if !all {
				if o.namespace, err = flags.namespace(); err != nil {
					return err
				}
			}
			if !watch {
				return o.show(cmd.Context(), c, stdout(cmd))
			}
			return o.follow(cmd.Context(), c, stdout(cmd))
		},
	}
	flags.add(cmd, cmd.Flags())
	o.output.add(cmd, wide, "json", "yaml", "name")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces, and what nobody manages")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again whenever it changes")
	return cmd
}

func (o statusOptions) look(ctx context.Context, c *cluster.Cluster) (status.Status, error) {
	facts, err := c.Status(ctx, o.namespace)
	return status.Of(facts, o.namespace, time.Now()), err
}

func (o statusOptions) show(ctx context.Context, c *cluster.Cluster, to output.Writer) error {
	s, err := o.look(ctx, c)
	if err != nil {
		return err
	}
	return o.print(to, s)
}

func (o statusOptions) print(to output.Writer, s status.Status) error {
	switch o.output.format {
	case "", wide:
		s.Print(to, o.output.format == wide, time.Now())
		return nil
	case "name":
		for _, name := range s.Names() {
			to.Printf("%s\n", name)
		}
		return nil
	default:
		return o.output.print(to, s)
	}
}

// follow shows the status again whenever it is another, and says when.
func (o statusOptions) follow(ctx context.Context, c *cluster.Cluster, to output.Writer) error {
	var last status.Status
	first := true
	return c.Follow(ctx, o.namespace, cluster.Heartbeat, func(ctx context.Context) error {
		s, err := o.look(ctx, c)
		if err != nil || (!first && s.Same(last)) {
			return err
		}
		if !first && (o.output.format == "" || o.output.format == wide) {
			to.Printf("\n%s\n", time.Now().Format(time.TimeOnly))
		}
		first, last = false, s
		return o.print(to, s)
	})
}
