package flags

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
)

// Complete registers fixed values for the shell completion of a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy registers a function for the shell completion of a flag.
func CompleteBy(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // The command does not have the flag.
	}
}

const completionTimeout = 5 * time.Second

// Names returns a completion function with the names of all objects of a resource.
func (f Cluster) Names(resource schema.GroupVersionResource) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		names, err := f.listNames(cmd.Context(), resource)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (f Cluster) listNames(ctx context.Context, resource schema.GroupVersionResource) ([]string, error) {
	c, err := f.Connect()
	if err != nil {
		return nil, err
	}
	namespace := ""
	if resource == cluster.ClusterServiceVersions {
		if namespace, err = f.CurrentNamespace(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithTimeout(ctx, completionTimeout)
	defer stop()
	return c.Names(ctx, resource, namespace)
}

// FirstArgument returns a completion function for the first argument of a command.
func FirstArgument(names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args, typed)
	}
}

func (f Cluster) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
