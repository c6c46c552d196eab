package certs

import (
	"fmt"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// lostSecretTimeout is for a registration of which no reason is known why it is not written. It exceeds the
// longest pause between two repairs, because the record of a contest ends with the process.
const lostSecretTimeout = 15 * time.Minute

// awaited omits registrations that timed out: they do not block the next generation.
func (m *decider) awaited() Facts {
	counted, without := m.Facts, m.timedOut()
	counted.Registrations = slices.DeleteFunc(slices.Clone(m.Registrations), func(r Registration) bool { return slices.Contains(without, r.Name) })
	return counted
}

// timedOut returns registrations whose deadline has passed, so that the others keep a valid certificate. If no
// registration is ready, all are waited for: calls to pods with the new certificate would fail.
func (m *decider) timedOut() []string {
	late := lists.FilterMap(m.Registrations, func(r Registration) (string, bool) { return r.Name, !m.ready(r) && !m.now.Before(m.deadline(r)) })
	if len(late) == len(m.Registrations) && !m.allCallsFail() {
		return nil
	}
	return late
}

func (m *decider) ready(r Registration) bool {
	only := Facts{Registrations: []Registration{r}}
	return only.firstWithoutTrust(m.next.ca()) == "" && only.writtenForEarlier(m.next.Number) == ""
}

// deadline is a tenth of the remaining validity of the current generation. There is no wait if the registration
// cannot be written, and its calls fail already or pods cannot start because the Secret is lost.
func (m *decider) deadline(r Registration) time.Time {
	notWritable := r.Refused != "" || r.Blocked
	switch {
	case notWritable && (m.current == nil || !r.trusts(m.current.ca())):
		return m.nextStoredAt
	case m.current == nil:
		return m.nextStoredAt.Add(lostSecretTimeout)
	case notWritable:
		return m.nextStoredAt.Add(m.tenth())
	default:
		return m.nextStoredAt.Add(max(m.tenth(), slotDuration))
	}
}

// tenth is measured when the next generation was stored.
func (m *decider) tenth() time.Duration {
	return max(0, expiry(m.current.chain).Sub(m.nextStoredAt)/10)
}

// allCallsFail reports whether no call can succeed with what pods serve now.
func (m *decider) allCallsFail() bool {
	if m.current == nil {
		return m.previousExpired()
	}
	return !m.now.Before(m.unverifiableAt())
}

// overdue reports whether the settle time stops restarting: a registration that always changes must not block.
func (m *decider) overdue() bool {
	limit := lostSecretTimeout
	if m.current != nil {
		limit = max(m.tenth(), slotDuration)
	}
	return !m.nextTrustedAt.Before(m.nextStoredAt.Add(limit))
}

func (m *decider) waitMessage(name, what string) string {
	r := lists.First(m.Registrations, func(r Registration) bool { return r.Name == name })
	text := name + " " + what
	if why := r.notWritable(); why != "" {
		text += ": " + why
	}
	if until := m.deadline(r); until.After(m.now) && len(m.Registrations) > 1 {
		text += fmt.Sprintf("; from %s on the other registrations do not wait for it any longer, and its calls fail then", instant(until))
	}
	return text
}

func (m *decider) deadlines() []time.Time {
	return lists.Map(lists.Filter(m.Registrations, func(r Registration) bool { return !m.ready(r) }), m.deadline)
}
