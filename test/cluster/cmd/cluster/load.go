package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
)

func loadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE...",
		Short: "Import image archives into the cluster",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, archives []string) error {
			out := command.OutOrStdout()
			if kubeconfig, ok := host.External(os.Getenv); ok {
				fmt.Fprintf(out, "The cluster of KUBECONFIG=%s gets its images its own way. Give it these under the names that\n"+
					"they hold: push them to a registry that it pulls from and set the image in what you deploy, or import them\n"+
					"(kind load image-archive ARCHIVE, minikube image load ARCHIVE, ctr -n k8s.io images import ARCHIVE):\n", kubeconfig)
				for _, archive := range archives {
					fmt.Fprintf(out, "  %s\n", archive)
				}
				return nil
			}
			return host.Load(command.Context(), host.RunDir(os.Getenv), archives, out)
		},
	}
}
