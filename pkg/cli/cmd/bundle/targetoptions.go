package bundle

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
)

type targetOptions struct {
	namespace     string
	allNamespaces bool
	watch         []string
	configFile    string
	allowKinds    []string
	registry      registryFlags
}

// add adds the flags to a command. With a connection, their values are completed from the cluster.
func (o *targetOptions) add(cmd *cobra.Command, connection *flags.Cluster) {
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "", "the operator's own namespace (default: the one that the bundle suggests, or the package name)")
	f.BoolVar(&o.allNamespaces, "all-namespaces", false, "the operator watches all namespaces (default, if the bundle supports it)")
	f.StringSliceVar(&o.watch, "watch-namespaces", nil, "namespaces that the operator watches (default, if it does not support all: its own)")
	f.StringVar(&o.configFile, "config", "", "a file with a SubscriptionConfig: env, resources, tolerations and so on of the operator's pods")
	f.StringSliceVar(&o.allowKinds, "allow-kind", nil, "kinds, as KIND.GROUP, that the bundle may have in addition to the kinds that OLM supports")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "watch-namespaces")
	o.registry.add(cmd)
	if connection != nil {
		flags.CompleteBy(cmd, "namespace", connection.Names(cluster.Namespaces))
		flags.CompleteBy(cmd, "watch-namespaces", connection.Names(cluster.Namespaces))
	}
}

func describeInstalled(cmd *cobra.Command) {
	cmd.Flags().Lookup("namespace").Usage = "the operator's own namespace (default: the one in which it is installed)"
}

func (o *targetOptions) open(ctx context.Context, reference string) (*bundle.Bundle, bundle.Options, error) {
	options, err := o.options()
	if err != nil {
		return nil, options, err
	}
	b, err := o.registry.open(ctx, reference)
	return b, options, err
}

func (o *targetOptions) options() (bundle.Options, error) {
	options := bundle.Options{Namespace: o.namespace, Watch: o.watch, AllowKinds: lists.Map(o.allowKinds, schema.ParseGroupKind)}
	if o.allNamespaces {
		options.Watch = []string{""}
	}
	if o.configFile == "" {
		return options, nil
	}
	text, err := os.ReadFile(o.configFile)
	if err != nil {
		return options, fmt.Errorf("--config: %w", err)
	}
	options.Config = &operatorsv1alpha1.SubscriptionConfig{}
	if err := yaml.UnmarshalStrict(text, options.Config); err != nil {
		return options, fmt.Errorf("--config=%s: %w", o.configFile, err)
	}
	return options, nil
}
