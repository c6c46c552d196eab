// Package ui has the command that shows the webhooks of a cluster in a browser.
package ui

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/ui"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/httpserver"
)

// NewCommand returns the command ui.
func NewCommand() *cobra.Command {
	connection, port := flags.NewCluster(), uint16(0)
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show the webhooks of the cluster as a page in a browser of this machine",
		Long: `Serves a page with all webhooks of the cluster and what they intercept, the rollout and the certificates of each, and
the findings of doctor. The page changes when the cluster does. With --namespace, it shows the webhooks of the
ClusterServiceVersions of that namespace.

The page is for the user of this machine: it is served at 127.0.0.1, its address has a random token, and it shows what
the kubeconfig may read. Secrets are never read. The command writes nothing to the cluster. It reads certificates
through port-forwards, which need the permission to create pods/portforward.

Only the plugin of kubectl has this command.`,
		Example: `  kubectl webhooks ui
  kubectl webhooks ui -n shop --port 8090`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			return serve(cmd, cluster.PageReader{Cluster: c, Namespace: *connection.Namespace}, port)
		},
	}
	connection.Add(cmd, cmd.Flags())
	cmd.Flags().Uint16Var(&port, "port", 0, "port at 127.0.0.1; 0 for a free one")
	return cmd
}

// serve ends without an error when the user interrupts it.
func serve(cmd *cobra.Command, reader cluster.PageReader, port uint16) error {
	if _, err := reader.Read(cmd.Context()); err != nil {
		return err // Before the page is opened.
	}
	handler := ui.NewHandler(cmd.Context(), reader)
	server, err := httpserver.Start(net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), handler, nil, terminal.Logger(cmd))
	if err != nil {
		return fmt.Errorf("serve the page: %w: choose another port with --port", err)
	}
	defer server.Close()
	terminal.Stdout(cmd).Printf("Open http://%s%s in a browser of this machine. End with Ctrl+C.\n", server.Address(), handler.Path())
	go handler.Measure(cmd.Context())
	return reader.Cluster.Watch(cmd.Context(), reader.Namespace, cluster.ResyncPeriod, func(ctx context.Context) error {
		handler.Refresh(ctx)
		return nil
	})
}

// PrintPage prints all views as one file. The examined facts are also those of the exit code of doctor.
func PrintPage(cmd *cobra.Command, c *cluster.Cluster, examined doctor.Facts, direct bool, now time.Time) error {
	reader := cluster.PageReader{Cluster: c}
	facts, err := reader.Read(cmd.Context())
	if err != nil {
		return err
	}
	facts.Facts.Facts = examined
	now = now.Add(page.Clock(0, facts.ClockAhead))
	facts.Measurements = page.Measurements{Answers: examined.Answers, DialledAt: now, Direct: direct}
	if facts.Latencies, err = reader.Latencies(cmd.Context()); err != nil {
		facts.LatenciesUnread = err.Error()
	}
	document, err := views.Document(page.New(facts, page.History{}, now))
	if err != nil {
		return err
	}
	return terminal.Stdout(cmd).HTML(document)
}
