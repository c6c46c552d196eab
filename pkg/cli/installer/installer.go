// Package installer installs, upgrades and uninstalls bundles in a cluster. The package deploy decides
// what is written and deleted.
package installer

import (
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
)

// Installer installs, upgrades and uninstalls bundles in one cluster.
type Installer struct {
	*cluster.Cluster

	records     recordStore
	definitions definitionStore
	operators   operatorReader
}

// New returns an Installer for the cluster of a client configuration.
func New(config *rest.Config) (*Installer, error) {
	c, err := cluster.New(config)
	if err != nil {
		return nil, err
	}
	return &Installer{Cluster: c, records: recordStore{c.Kube}, definitions: definitionStore{c.Extensions}, operators: operatorReader{c.OLM}}, nil
}
