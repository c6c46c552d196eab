package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// clusterFlags are kubectl's: which cluster, as whom, and where not said otherwise, in
// which namespace.
type clusterFlags struct{ *genericclioptions.ConfigFlags }

func newClusterFlags() clusterFlags {
	return clusterFlags{genericclioptions.NewConfigFlags(true)}
}

// withoutNamespace is for commands that do not work in one, or that name it otherwise.
func (f clusterFlags) withoutNamespace() clusterFlags {
	f.Namespace = nil
	return f
}

// inNamespace is for commands that work in one that has nothing to do with the kubeconfig's.
func (f clusterFlags) inNamespace(name string) clusterFlags {
	f.Namespace = &name
	return f
}

// config is how to reach the cluster. It has no throttle of its own, as the manager's has none, and ends requests
// that are not answered.
func (f clusterFlags) config() (*rest.Config, error) {
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to work with: %w", err)
	}
	config.UserAgent, config.QPS = "olm-webhook-manager/"+currentVersion(), -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return silence{next, answerWithin} })
	return config, nil
}

// add gives a command the flags, and those below it where they are persistent.
func (f clusterFlags) add(cmd *cobra.Command, flags *pflag.FlagSet) {
	f.AddFlags(flags)
	completeBy(cmd, "context", f.contexts)
	if f.Namespace != nil {
		completeBy(cmd, "namespace", f.names(cluster.Namespaces))
	}
}

func (f clusterFlags) connect() (*cluster.Cluster, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return cluster.New(config)
}

func (f clusterFlags) namespace() (string, error) {
	namespace, _, err := f.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// outputFlag is kubectl's -o.
type outputFlag struct {
	format  string
	allowed []string
}

func (o *outputFlag) add(cmd *cobra.Command, allowed ...string) {
	o.allowed = allowed
	cmd.Flags().StringVarP(&o.format, "output", "o", "", fmt.Sprintf("output format, one of %v (default: for people)", allowed))
	complete(cmd, "output", allowed...)
}

// check refuses a format before anything is done.
func (o *outputFlag) check() error {
	for _, format := range append(o.allowed, "") {
		if o.format == format {
			return nil
		}
	}
	return fmt.Errorf("--output=%s: use one of %v", o.format, o.allowed)
}

// print writes a value as JSON or YAML.
func (o *outputFlag) print(to output.Writer, value any) error {
	if o.format == "json" {
		return to.JSON(value)
	}
	return to.YAML(value)
}

// codedError is an error that ends the process with a code of its own.
type codedError struct {
	code int
	error
}
