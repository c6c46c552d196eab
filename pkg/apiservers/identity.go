package apiservers

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// IdentityNamespace has a Lease for each API server.
const IdentityNamespace = metav1.NamespaceSystem

// IdentitySelector selects the Leases of API servers.
func IdentitySelector() string {
	return labels.Set{"apiserver.kubernetes.io/identity": "kube-apiserver"}.String()
}

// Alive returns how many API servers renew their Leases.
func Alive(identities []coordinationv1.Lease, now time.Time) int {
	alive := 0
	for _, lease := range identities {
		if isAlive(lease.Spec, now) {
			alive++
		}
	}
	return alive
}

// Number returns how many API servers there can be; 0 if that is not known. An API server that has just started may have only
// an address, and several API servers can have one address.
func Number(addresses, alive int) int {
	if alive == 0 {
		return 0
	}
	return max(addresses, alive)
}

// Incomplete returns why some addresses are not those of all API servers, each at its own; empty if they are. An address may
// be that of a load balancer, or an API server may not be listed.
func Incomplete(addresses, alive int) string {
	if alive == 0 || alive != addresses {
		return fmt.Sprintf("the EndpointSlices of Service default/%s list %d addresses, and %d API servers have a Lease", Service, addresses, alive)
	}
	return ""
}

func isAlive(lease coordinationv1.LeaseSpec, now time.Time) bool {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(lease.RenewTime.Add(time.Duration(*lease.LeaseDurationSeconds) * time.Second))
}
