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

// Incomplete returns why some addresses are not those of all API servers, each at its own; empty if they are. An address may
// be that of a load balancer, or an API server may not be listed.
func Incomplete(addresses int, identities []coordinationv1.Lease, now time.Time) string {
	alive := 0
	for _, lease := range identities {
		if isAlive(lease.Spec, now) {
			alive++
		}
	}
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
