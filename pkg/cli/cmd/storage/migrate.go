// Package storage has the commands for the storage versions of custom resources.
package storage

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

// NewCommand returns the command storage.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "storage", Short: "Look after the versions in which objects are stored"}
	cmd.AddCommand(newMigrateCommand())
	return cmd
}

func newMigrateCommand() *cobra.Command {
	connection, to, servers := flags.NewCluster().WithoutNamespace(), "", []string{}
	cmd := &cobra.Command{
		Use:   "migrate CRD",
		Short: "Rewrite all objects of a CustomResourceDefinition in one version",
		Long: "Makes a version the storage version, waits until every API server stores in it, and rewrites all objects. Only then it removes the other versions\n" +
			"from status.storedVersions. It can be interrupted and run again: until it is complete, the annotation olm-webhook-manager.io/stored-versions of the\n" +
			"definition keeps the versions in which objects may be stored. Where the cluster has a migrator of its own (storagemigration.k8s.io/v1beta1), that one\n" +
			"rewrites the objects; what it does not do is done in pages, which list the objects that cannot be rewritten. The command acts with the permissions of its user:\n" +
			"to get and patch the definition and patch its status, and to list, get and update its objects. It must reach every API server at its own address,\n" +
			"as the Service kubernetes lists them or --api-servers names them, to read in which version that one stores.",
		Example: "  olm-webhook-manager storage migrate caches.example.com --to v1",
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: flags.FirstArgument(connection.Names(cluster.Definitions)),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := connection.Config()
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), terminal.Stdout(cmd), config, args[0], to, servers)
		},
	}
	connection.Add(cmd, cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the version to store in (default: the present storage version)")
	cmd.Flags().StringSliceVar(&servers, "api-servers", nil, "host:port of every API server, where the Service kubernetes does not list them")
	return cmd
}

func migrate(ctx context.Context, out output.Writer, config *rest.Config, crd, to string, servers []string) error {
	objects, err := newStorageCluster(config, crd, servers)
	if err != nil {
		return err
	}
	progress := newProgressLine(out)
	n, err := storage.Migrate(ctx, objects, to, progress.print)
	progress.end()
	if err != nil {
		return err
	}
	now, err := objects.Definition(ctx)
	if err != nil {
		return err
	}
	out.Printf("%s: all objects are stored in %s; %d were rewritten\n", crd, storage.Stored(now), n)
	return nil
}
