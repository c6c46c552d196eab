package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// identitySelector selects the Leases that each kube-apiserver renews every 10 s
// (pkg/controlplane/apiserver/server.go of Kubernetes). Their names are derived from host names.
const identitySelector = "apiserver.kubernetes.io/identity=kube-apiserver"

// maxRenewalLag is how much older than the newest renewal a renewal may be without a second read. The duration of these
// Leases, one hour, is too long: it includes API servers that have been replaced.
const maxRenewalLag = time.Minute

// renewalPeriod is longer than the 10 s in which a running API server renews its Lease.
const renewalPeriod = 15 * time.Second

// checkLeases returns an error if one address belongs to several API servers. Without Leases it prints that.
func (s apiServers) checkLeases(ctx context.Context, out output.Writer) error {
	const notCompared = "the number of API servers is not compared with their identity Leases, "
	first, err := s.leases(ctx)
	if err != nil {
		out.Printf(notCompared+"which cannot be listed: %v\n", err)
		return nil
	}
	second := first
	if stale := staleLeases(first); len(stale) > 0 {
		out.Printf("waiting %s: an API server whose clock is behind may renew %s\n", renewalPeriod, strings.Join(stale, ", "))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(renewalPeriod):
		}
		if second, err = s.leases(ctx); err != nil {
			return err
		}
	}
	servers := leasesOfRunning(first, second)
	if len(servers) == 0 {
		out.Printf(notCompared + "because namespace kube-system has none that is held: if several API servers have one address, name an address of each with --api-servers\n")
		return nil
	}
	addresses := s.named().Len()
	if addresses == 0 {
		listed, err := s.listed(ctx)
		if err != nil {
			return err
		}
		addresses = len(listed)
	}
	return unasked(servers, addresses)
}

func (s apiServers) leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	list, err := s.kube.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: identitySelector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func unasked(servers []string, addresses int) error {
	if len(servers) <= addresses {
		return nil
	}
	return fmt.Errorf("%d API servers renew an identity Lease in namespace kube-system (%s), and %d addresses of API servers are known: name an address of each API server with --api-servers", len(servers), strings.Join(servers, ", "), addresses)
}

// leasesOfRunning returns the names of the Leases that running API servers hold: those renewed between two lists, which
// no clock decides, and those renewed shortly before the newest renewal.
func leasesOfRunning(first, second []coordinationv1.Lease) []string {
	before := map[types.UID]*metav1.MicroTime{}
	for _, lease := range first {
		before[lease.UID] = lease.Spec.RenewTime
	}
	newest := newestRenewal(second)
	return heldLeases(second, func(lease coordinationv1.Lease) bool {
		previous, known := before[lease.UID]
		return !known || !lease.Spec.RenewTime.Equal(previous) || isFresh(lease, newest)
	})
}

// staleLeases returns the names of the held Leases whose times do not show whether their API servers run.
func staleLeases(leases []coordinationv1.Lease) []string {
	newest := newestRenewal(leases)
	return heldLeases(leases, func(lease coordinationv1.Lease) bool { return !isFresh(lease, newest) })
}

func heldLeases(leases []coordinationv1.Lease, are func(coordinationv1.Lease) bool) []string {
	names := lists.FilterMap(leases, func(lease coordinationv1.Lease) (string, bool) { return lease.Name, isHeld(lease) && are(lease) })
	slices.Sort(names)
	return names
}

// newestRenewal is compared with in place of the clock of this machine, which may differ.
func newestRenewal(leases []coordinationv1.Lease) (newest time.Time) {
	for _, lease := range leases {
		if isHeld(lease) && lease.Spec.RenewTime.After(newest) {
			newest = lease.Spec.RenewTime.Time
		}
	}
	return newest
}

func isHeld(lease coordinationv1.Lease) bool {
	s := lease.Spec
	return s.HolderIdentity != nil && *s.HolderIdentity != "" && s.RenewTime != nil
}

func isFresh(lease coordinationv1.Lease, newest time.Time) bool {
	return newest.Sub(lease.Spec.RenewTime.Time) <= maxRenewalLag
}
