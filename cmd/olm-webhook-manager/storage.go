package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/storage"
)

// migrateOptions are the flags of storage migrate.
type migrateOptions struct {
	kubeconfig string
	to         string
}

func storageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "storage", Short: "Look after the versions in which objects are stored"}
	cmd.AddCommand(migrateCommand())
	return cmd
}

func migrateCommand() *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate CRD",
		Short: "Rewrite all objects of a CustomResourceDefinition in one version",
		Long: "Makes a version the storage version, waits until every API server stores in it, rewrites all objects, and only then takes the other versions out of\n" +
			"status.storedVersions. It may be interrupted and run again. It needs what its user may do: to patch the definition, and to list and update its objects.",
		Example: "  olm-webhook-manager storage migrate caches.example.com --to v1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return migrate(cmd.Context(), cmd.OutOrStdout(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.to, "to", "", "the version to store in (default: the present storage version)")
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default: $KUBECONFIG, else the pod's service account)")
	return cmd
}

func migrate(ctx context.Context, out io.Writer, crd string, o migrateOptions) error {
	config, err := clientConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := newStorageCluster(config, crd)
	if err != nil {
		return err
	}
	n, err := storage.Migrate(ctx, cluster, o.to, func(done, all int) {
		fmt.Fprintf(out, "\rrewritten %d of %d", done, all)
		if done == all {
			fmt.Fprintln(out)
		}
	})
	if err != nil {
		return err
	}
	now, err := cluster.Definition(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: all objects are stored in %s; %d were rewritten\n", crd, storage.Stored(now), n)
	return nil
}
