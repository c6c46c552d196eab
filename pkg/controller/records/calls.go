package records

import (
	"sync/atomic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
)

// Calls is the last report about the calls of API servers.
type Calls struct{ last atomic.Pointer[calls.Report] }

// Set replaces the report. The caller does not change it afterwards.
func (c *Calls) Set(r calls.Report) { c.last.Store(&r) }

// Last returns the last report; the zero value before the first one.
func (c *Calls) Last() calls.Report {
	if last := c.last.Load(); last != nil {
		return *last
	}
	return calls.Report{}
}
