// Package storage has the commands for the storage versions of custom resources.
package storage

import (
	"context"
	"fmt"
	"time"

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
	connection, to, servers, requestTimeout := flags.NewCluster().WithoutNamespace(), "", []string{}, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "migrate CRD",
		Short: "Rewrite all objects of a CustomResourceDefinition in one version",
		Long: `Sets the storage version, waits until every API server stores objects in it, and rewrites all objects. Then it removes
the other versions from status.storedVersions. The command can be interrupted and run again: until it is complete, the
annotation olm-webhook-manager.io/stored-versions of the definition lists the versions in which objects may be stored.
The command lists the objects that cannot be rewritten.

An API server finishes a request with the storage version that it used at the start of the request. So the command
waits until --api-server-request-timeout has passed since the last change of the spec of the definition.

The user needs permission to get and patch the definition, to patch its status, and to list, get and update its
objects. The command must reach every API server at its own address, from the Service kubernetes or --api-servers, to
read the version in which that API server stores objects. With permission to list Leases in kube-system, it compares
the number of API servers with their identity Leases, and otherwise prints that it has not compared them.`,
		Example:           "  kubectl webhooks storage migrate caches.example.com --to v1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: flags.FirstArgument(connection.Names(cluster.Definitions)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if requestTimeout <= 0 {
				return fmt.Errorf("--api-server-request-timeout is %s: set it to the longest --request-timeout of the API servers, such as 60s", requestTimeout)
			}
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), terminal.Stdout(cmd), newStorageCluster(c, args[0], servers), to, requestTimeout)
		},
	}
	connection.Add(cmd, cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the storage version (default: the current one)")
	cmd.Flags().StringSliceVar(&servers, "api-servers", nil, "host:port of every API server, if the Service kubernetes does not list them")
	cmd.Flags().DurationVar(&requestTimeout, "api-server-request-timeout", time.Minute, "the longest --request-timeout of the API servers")
	return cmd
}

func migrate(ctx context.Context, out output.Writer, objects *storageCluster, to string, requestTimeout time.Duration) error {
	if err := objects.checkLeases(ctx, out); err != nil {
		return err
	}
	progress := terminal.NewProgressLine(out)
	done, err := storage.Migrate(ctx, objects, to, requestTimeout, func(p storage.Progress) { progress.Print(terminal.Progress(p)) })
	progress.End()
	if err != nil {
		return err
	}
	out.Printf("%s: all objects are stored in %s; %d were rewritten\n", objects.name, done.Version, done.Rewritten)
	return nil
}
