package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
)

// complete offers the shell the values that a flag may have.
func complete(cmd *cobra.Command, flag string, values ...string) {
	completeBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeBy(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // the command has no such flag
	}
}

// shellPatience is how long a shell is held up for the names of a cluster.
const shellPatience = 5 * time.Second

// names offers those of a resource. Where the cluster cannot be reached there are none.
func (f clusterFlags) names(resource schema.GroupVersionResource) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		found, err := f.namesOf(cmd.Context(), resource)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func (f clusterFlags) namesOf(ctx context.Context, resource schema.GroupVersionResource) ([]string, error) {
	c, err := f.connect()
	if err != nil {
		return nil, err
	}
	namespace := ""
	if resource == cluster.ClusterServiceVersions {
		if namespace, err = f.namespace(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithTimeout(ctx, shellPatience)
	defer stop()
	return c.Names(ctx, resource, namespace)
}

// firstArgument offers names for the first argument alone.
func firstArgument(names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args, typed)
	}
}

// contexts are those of the kubeconfig.
func (f clusterFlags) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
