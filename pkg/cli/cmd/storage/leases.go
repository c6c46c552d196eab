package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// identitySelector selects the Leases that each kube-apiserver renews every 10 s
// (pkg/controlplane/apiserver/server.go of Kubernetes). Their names are derived from host names.
const identitySelector = "apiserver.kubernetes.io/identity=kube-apiserver"

// maxRenewalLag is how much older than the newest renewal the renewal of a running API server may be. The
// duration of these Leases, one hour, is too long: it includes API servers that have been replaced.
const maxRenewalLag = time.Minute

// checkLeases returns an error if one address belongs to several API servers. Without permission to
// list Leases it prints that nothing is compared.
func (s apiServers) checkLeases(ctx context.Context, out output.Writer) error {
	leases, err := s.kube.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: identitySelector})
	if err != nil {
		out.Printf("the number of API servers is not compared with their identity Leases, which cannot be listed: %v\n", err)
		return nil
	}
	asked := s.named().Len()
	if asked == 0 {
		listed, err := s.listed(ctx)
		if err != nil {
			return err
		}
		asked = len(listed)
	}
	return unasked(leases.Items, asked)
}

// unasked returns an error if more API servers have a fresh Lease than have an address.
func unasked(leases []coordinationv1.Lease, addresses int) error {
	fresh := freshLeases(leases)
	if len(fresh) <= addresses {
		return nil
	}
	return fmt.Errorf("%d API servers renew an identity Lease in namespace kube-system (%s), and %d addresses of API servers are known: name an address of each API server with --api-servers", len(fresh), strings.Join(fresh, ", "), addresses)
}

// freshLeases returns the names of the Leases that running API servers hold. Times are compared with
// the newest renewal, because the clock of this machine may differ.
func freshLeases(leases []coordinationv1.Lease) []string {
	var newest time.Time
	for _, lease := range leases {
		if renewed := lease.Spec.RenewTime; renewed != nil && renewed.After(newest) {
			newest = renewed.Time
		}
	}
	var names []string
	for _, lease := range leases {
		s := lease.Spec
		if s.HolderIdentity != nil && *s.HolderIdentity != "" && s.RenewTime != nil && newest.Sub(s.RenewTime.Time) <= maxRenewalLag {
			names = append(names, lease.Name)
		}
	}
	slices.Sort(names)
	return names
}
