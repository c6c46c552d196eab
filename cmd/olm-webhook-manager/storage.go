package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/storage"
)

func storageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "storage", Short: "Look after the versions in which objects are stored"}
	cmd.AddCommand(migrateCommand())
	return cmd
}

func migrateCommand() *cobra.Command {
	flags, to := newClusterFlags().withoutNamespace(), ""
	cmd := &cobra.Command{
		Use:   "migrate CRD",
		Short: "Rewrite all objects of a CustomResourceDefinition in one version",
		Long: "Makes a version the storage version, waits until every API server stores in it, rewrites all objects, and only then takes the other versions out of\n" +
			"status.storedVersions. It may be interrupted and run again. Where the cluster has a migrator of its own (storagemigration.k8s.io/v1beta1) that one does it; what it\n" +
			"does not do is done in pages, which list the objects that something refuses. It needs what its user may do: to update the definition and its status, and to list,\n" +
			"get and update its objects; and it must reach every API server at its own address, as the Service kubernetes has them, to see in which version that one stores.",
		Example: "  olm-webhook-manager storage migrate caches.example.com --to v1",
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: firstArgument(flags.names(cluster.Definitions)),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), cmd.OutOrStdout(), config, args[0], to)
		},
	}
	flags.add(cmd, cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the version to store in (default: the present storage version)")
	return cmd
}

func migrate(ctx context.Context, out io.Writer, config *rest.Config, crd, to string) error {
	objects, err := newStorageCluster(config, crd)
	if err != nil {
		return err
	}
	progress := newProgressLine(out)
	n, err := storage.Migrate(ctx, objects, to, progress.tell)
	progress.end()
	if err != nil {
		return err
	}
	now, err := objects.Definition(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: all objects are stored in %s; %d were rewritten\n", crd, storage.Stored(now), n)
	return nil
}
