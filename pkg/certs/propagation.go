package certs

import (
	"fmt"
	"strings"
	"time"
)

// Propagation is which API servers call the registrations as Facts have them.
type Propagation struct {
	// Behind are the API servers that call earlier registrations, by address.
	Behind []string
	// Unknown is why it is not known of all API servers and registrations; empty if it is.
	Unknown string
}

// proves reports whether all API servers call the registrations as Facts have them.
func (o *Propagation) proves() bool {
	return o != nil && o.Unknown == "" && len(o.Behind) == 0
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
