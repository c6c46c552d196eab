package certs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Propagation is which API servers call the registrations as Facts have them.
type Propagation struct {
	// Method is how API servers were asked.
	Method managerv1alpha1.PropagationMethod
	// APIServers is their number; 0 if it is not known.
	APIServers int
	// Behind are the API servers that call earlier registrations, by address.
	Behind []string
	// NotReached are the API servers that did not answer, by address.
	NotReached []string
	// Unknown is why it is not known of all API servers and registrations; empty if it is.
	Unknown string
}

// proves reports whether all API servers call the registrations as Facts have them.
func (o *Propagation) proves() bool {
	return o != nil && o.Unknown == "" && len(o.Behind) == 0
}

const (
	maxNotReached = 16
	maxReason     = 1024 // bytes
)

// record returns what the status reports of it.
func (o *Propagation) record() *managerv1alpha1.CertificatePropagation {
	result := &managerv1alpha1.CertificatePropagation{
		Method: o.Method, APIServers: int32(min(o.APIServers, 1000)), NotReached: o.NotReached[:min(len(o.NotReached), maxNotReached)],
	}
	if !o.proves() {
		result.Method, result.Reason = managerv1alpha1.PropagationSettleTime, o.Unknown[:min(len(o.Unknown), maxReason)]
	}
	return result
}

// validPropagation returns what a Secret records; nil if another client edited it so that no status can have it.
func validPropagation(recorded *managerv1alpha1.CertificatePropagation) *managerv1alpha1.CertificatePropagation {
	methods := []managerv1alpha1.PropagationMethod{managerv1alpha1.PropagationEachAPIServer, managerv1alpha1.PropagationRepeatedRequests, managerv1alpha1.PropagationSettleTime}
	if recorded == nil || !slices.Contains(methods, recorded.Method) || len(recorded.NotReached) > maxNotReached || len(recorded.Reason) > maxReason {
		return nil
	}
	return recorded
}

// propagationInterval is how long the manager waits before it asks API servers again.
const propagationInterval = time.Second

// propagated reports whether all API servers call the present registrations, as far as it can be found out, or else have had
// the settle time for it. An API server that is known to be behind is waited for.
func (m *decider) propagated() bool {
	if m.Propagation == nil {
		m.d.Need = NeedPropagation
		return false
	}
	settled := m.nextTrustedAt.Add(m.policy.Settle)
	switch {
	case m.Propagation.proves():
		return true
	case len(m.Propagation.Behind) > 0:
		m.d.Message, m.d.PollAt = fmt.Sprintf("these API servers do not use the next certificate yet: %s", strings.Join(m.Propagation.Behind, ", ")), m.now.Add(propagationInterval)
		return false
	case m.now.Before(settled):
		m.d.Message = fmt.Sprintf("API servers are given time to learn of the next certificate, until %s: %s", instant(settled), m.Propagation.Unknown)
		return false
	default:
		return true
	}
}
