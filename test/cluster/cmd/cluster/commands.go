package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/binaries"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// newCommand returns a command that takes no arguments.
func newCommand(use, short string, run func(*cobra.Command) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return run(command) },
	}
}

func upCommand() *cobra.Command {
	var install bool
	var wanted host.Wanted
	command := newCommand("up", "Bring the cluster up, unless it is", func(command *cobra.Command) error {
		out := command.OutOrStdout()
		if kubeconfig, ok := host.External(os.Getenv); ok {
			fmt.Fprintf(out, "Using the cluster of KUBECONFIG=%s; none is built or started.\n", kubeconfig)
			return nil
		}
		run := host.RunDir(os.Getenv)
		if err := host.BringUp(command.Context(), run, wanted, install, out); err != nil {
			return err
		}
		l := node.Layout{Run: run}
		fmt.Fprintf(out, "Inspect it with:\n  export KUBECONFIG=%s PATH=$PATH:%s\n  kubectl get pods -A\n", l.Kubeconfig(), l.BinLink())
		return nil
	})
	command.Flags().BoolVar(&install, "install", false, "install missing Debian packages with apt-get")
	kubernetesFlag(command, &wanted.Kubernetes)
	command.Flags().IntVar(&wanted.APIServers, "api-servers", 1, "how many kube-apiservers run on one etcd")
	return command
}

func downCommand() *cobra.Command {
	return newCommand("down", "Take the cluster down and leave nothing of it", func(command *cobra.Command) error {
		out := command.OutOrStdout()
		if kubeconfig, ok := host.External(os.Getenv); ok {
			fmt.Fprintf(out, "KUBECONFIG=%s names a cluster that this tool did not make: it stays as it is.\n"+
				"Unset KUBECONFIG to take down the one that this tool made.\n", kubeconfig)
			return nil
		}
		return host.TakeDown(command.Context(), host.RunDir(os.Getenv), out)
	})
}

func statusCommand() *cobra.Command {
	return newCommand("status", "Report whether the cluster is up, and where its files are; exit 1 if it is not", func(command *cobra.Command) error {
		out := command.OutOrStdout()
		if kubeconfig, ok := host.External(os.Getenv); ok {
			fmt.Fprintf(out, "The cluster in use is that of KUBECONFIG=%s.\n", kubeconfig)
			return nil
		}
		state := host.Observe(command.Context(), host.RunDir(os.Getenv))
		switch state.Phase {
		case host.Up:
			fmt.Fprintf(out, "up\n  kubeconfig  %s\n  binaries    %s\n  logs        %s\n  audit log   %s\n  inside      nsenter --target %d --all\n",
				state.Layout.Kubeconfig(), state.Layout.Bin, state.Layout.Logs(), state.Layout.AuditLog(1), state.PID)
			return printAPIServers(command, state)
		case host.Broken:
			return fmt.Errorf("the cluster is broken: %s", state.Reason)
		default:
			return fmt.Errorf("no cluster is up")
		}
	})
}

func kubeconfigCommand() *cobra.Command {
	return newCommand("kubeconfig", "Print the path of the kubeconfig in use", func(command *cobra.Command) error {
		kubeconfig, ok := host.External(os.Getenv)
		if !ok {
			var err error
			if kubeconfig, err = host.Kubeconfig(command.Context(), host.RunDir(os.Getenv)); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(command.OutOrStdout(), kubeconfig)
		return err
	})
}

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

// nodeCommand is what up starts as PID 1 of the cluster's namespaces.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "node RUN",
		Short:  "The inside of the cluster; up starts it",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(command *cobra.Command, args []string) error {
			layout, err := node.Open(args[0])
			if err != nil {
				return err
			}
			const inherited = 3 // the first file that a process gets in addition to its standard ones
			return node.Run(command.Context(), layout, os.NewFile(inherited, "linked"))
		},
	}
}

func buildCommand() *cobra.Command {
	return binariesCommand("build", "Build all binaries into the cache, unless they exist, and print their directory",
		func(command *cobra.Command, kubernetes string, set binaries.Set) (string, error) {
			return binaries.Build(command.Context(), kubernetes, set, command.ErrOrStderr())
		})
}

func pathCommand() *cobra.Command {
	return binariesCommand("path", "Print the directory of the binaries, or fail if one of them is not built",
		func(_ *cobra.Command, kubernetes string, set binaries.Set) (string, error) {
			return binaries.Find(kubernetes, set)
		})
}

// binariesCommand returns a command that prints the directory of a set of binaries.
func binariesCommand(use, short string, directory func(command *cobra.Command, kubernetes string, set binaries.Set) (string, error)) *cobra.Command {
	var light bool
	var kubernetes string
	command := newCommand(use, short, func(command *cobra.Command) error {
		set := binaries.All
		if light {
			set = binaries.Light
		}
		bin, err := directory(command, kubernetes, set)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), bin)
		return err
	})
	kubernetesFlag(command, &kubernetes)
	command.Flags().BoolVar(&light, "light", false, "only etcd, kube-apiserver and kubectl, for tests that need no node")
	return command
}

func kubernetesFlag(command *cobra.Command, version *string) {
	command.Flags().StringVar(version, "kubernetes", binaries.DefaultKubernetes, "the version of Kubernetes: "+strings.Join(binaries.Versions(), ", "))
}
