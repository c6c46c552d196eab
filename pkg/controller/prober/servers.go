package prober

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
)

// Servers are the API servers of a cluster.
type Servers struct {
	// Each is a configuration for each API server, by its address.
	Each map[string]*rest.Config
	// Obstacle is why Each lacks API servers, or has other addresses; empty if each API server has its own address.
	Obstacle string
	// Any leads to any of them.
	Any *rest.Config
	// Number is how many there are; 0 if it is not known.
	Number int
}

// FindServers reads the addresses of API servers, and their number.
func (p *Prober) FindServers(ctx context.Context) Servers {
	endpoints, err := p.Kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: apiservers.Selector()})
	if err != nil {
		endpoints = &discoveryv1.EndpointSliceList{}
	}
	identities, unknown := p.Kube.CoordinationV1().Leases(apiservers.IdentityNamespace).List(ctx, metav1.ListOptions{LabelSelector: apiservers.IdentitySelector()})
	if unknown != nil {
		identities = &coordinationv1.LeaseList{}
	}
	servers := Servers{Each: apiservers.Configs(p.Config, endpoints.Items), Any: p.Config}
	alive := apiservers.Alive(identities.Items, p.Now())
	servers.Number = apiservers.Number(len(servers.Each), alive)
	switch {
	case err != nil:
		servers.Obstacle = fmt.Sprintf("the addresses of API servers cannot be read: %v", err)
	case unknown != nil:
		servers.Obstacle = fmt.Sprintf("the number of API servers cannot be read: %v", unknown)
	default:
		servers.Obstacle = apiservers.Incomplete(len(servers.Each), alive)
	}
	return servers
}
