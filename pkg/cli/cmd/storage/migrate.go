// Package storage has the commands for the storage versions of custom resources.
package storage

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

// NewCommand returns the command storage.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "storage", Short: "Manage the versions in which objects are stored"}
	cmd.AddCommand(newMigrateCommand())
	return cmd
}

func newMigrateCommand() *cobra.Command {
	connection, to, servers := flags.NewCluster().WithoutNamespace(), "", []string{}
	cmd := &cobra.Command{
		Use:   "migrate CRD",
		Short: "Rewrite all objects of a CustomResourceDefinition in one version",
		Long: `Sets the storage version, waits until every API server stores objects in it, and rewrites all objects. Then it removes
the other versions from status.storedVersions. The command can be interrupted and run again: until it is complete, the
annotation olm-webhook-manager.io/stored-versions of the definition lists the versions in which objects may be stored.
If the cluster serves storagemigration.k8s.io/v1beta1, its migrator rewrites the objects. The command rewrites the
rest, and lists the objects that cannot be rewritten.

The user needs permission to get and patch the definition, to patch its status, and to list, get and update its
objects. The command must reach every API server at its own address, from the Service kubernetes or --api-servers, to
read the version in which that API server stores objects.`,
		Example:           "  kubectl webhooks storage migrate caches.example.com --to v1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: flags.FirstArgument(connection.Names(cluster.Definitions)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), terminal.Stdout(cmd), newStorageCluster(c, args[0], servers), to)
		},
	}
	connection.Add(cmd, cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the storage version (default: the current one)")
	cmd.Flags().StringSliceVar(&servers, "api-servers", nil, "host:port of every API server, if the Service kubernetes does not list them")
	return cmd
}

func migrate(ctx context.Context, out output.Writer, objects *storageCluster, to string) error {
	progress := newProgressLine(out)
	done, err := storage.Migrate(ctx, objects, to, progress.print)
	progress.end()
	if err != nil {
		return err
	}
	out.Printf("%s: all objects are stored in %s; %d were rewritten\n", objects.name, done.Version, done.Rewritten)
	return nil
}
