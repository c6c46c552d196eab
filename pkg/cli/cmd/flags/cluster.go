// Package flags has the flags that several commands share.
package flags

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
)

// Cluster has the connection flags of kubectl.
type Cluster struct{ *genericclioptions.ConfigFlags }

// NewCluster returns flags with the defaults of kubectl.
func NewCluster() Cluster { return Cluster{genericclioptions.NewConfigFlags(true)} }

// WithoutNamespace removes the flag --namespace.
func (f Cluster) WithoutNamespace() Cluster {
	f.Namespace = nil
	return f
}

// InNamespace sets the default of --namespace. The namespace of the kubeconfig is then ignored.
func (f Cluster) InNamespace(name string) Cluster {
	f.Namespace = &name
	return f
}

// noKubeconfig is the address that client-go chooses without a kubeconfig, outside of a cluster.
const noKubeconfig = "http://localhost:8080"

// Config returns a client configuration without throttling. A request that the API server does not answer ends.
func (f Cluster) Config() (*rest.Config, error) {
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to work with: %w", err)
	}
	if raw, err := f.ToRawKubeConfigLoader().RawConfig(); err == nil && len(raw.Clusters) == 0 && config.Host == noKubeconfig && *f.APIServer == "" {
		return nil, errors.New("no cluster to work with: no kubeconfig names one. Set KUBECONFIG, or --kubeconfig, to an existing file")
	}
	config.UserAgent, config.QPS = "olm-webhook-manager/"+buildinfo.Version(), -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return idleTimeout{next, maxIdle} })
	return config, nil
}

// Add adds the flags to a flag set of a command.
func (f Cluster) Add(cmd *cobra.Command, flags *pflag.FlagSet) {
	f.AddFlags(flags)
	CompleteBy(cmd, "context", f.contexts)
	if f.Namespace != nil {
		CompleteBy(cmd, "namespace", f.Names(cluster.Namespaces))
	}
}

// Connect returns the cluster.
func (f Cluster) Connect() (*cluster.Cluster, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return cluster.New(config)
}

// CurrentNamespace returns the value of --namespace, or the namespace of the kubeconfig.
func (f Cluster) CurrentNamespace() (string, error) {
	namespace, _, err := f.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}
