// Package leader decides from Leases whether managers run. Each Lease stands for one manager, and for no
// other: a client that writes Leases in a namespace can create one of the same name there.
package leader

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// skew is the maximum difference between the clocks of the holder and of the reader.
const skew = 5 * time.Second

// Held reports whether a manager holds a Lease. No manager writes a time of renewal in the future.
func Held(l coordinationv1.Lease, now time.Time) bool {
	s := l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	end := s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second + skew)
	return !s.RenewTime.After(now.Add(skew)) && now.Before(end)
}

// Away is a Lease that no manager holds.
type Away struct {
	// Lease is its namespace and name.
	Lease string `json:"lease"`
	// Since is when it was renewed last, or created.
	Since metav1.Time `json:"since"`
}

// AwayOf returns the Leases that no manager holds, in the order of their names.
func AwayOf(leases []coordinationv1.Lease, now time.Time) []Away {
	var all []Away
	for _, l := range leases {
		if Held(l, now) {
			continue
		}
		since := l.CreationTimestamp
		if l.Spec.RenewTime != nil {
			since = metav1.NewTime(l.Spec.RenewTime.Time)
		}
		all = append(all, Away{Lease: l.Namespace + "/" + l.Name, Since: since})
	}
	slices.SortFunc(all, func(a, b Away) int { return strings.Compare(a.Lease, b.Lease) })
	return all
}
