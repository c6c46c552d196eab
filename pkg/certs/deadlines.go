package certs

import (
	"fmt"
	"slices"
	"time"
)

// lostPatience is how long a lost Secret waits for a registration whose writes nobody refuses:
// longer than the longest pause between two repairs of a contested one.
const lostPatience = 15 * time.Minute

// counted are the facts without the registrations that pods wait for no longer (see
// outwaited): neither their trust nor their changes hold up the next generation.
func (m distribution) counted() Facts {
	counted, without := m.Facts, m.outwaited()
	counted.Registered = slices.DeleteFunc(slices.Clone(m.Registered), func(r Registration) bool { return slices.Contains(without, r.Name) })
	return counted
}

// outwaited are the names of the registrations that do not trust the next generation and that
// are not waited for any longer, so that the others keep their certificate. While there is no
// other, waiting costs nothing that is not lost already.
func (m distribution) outwaited() []string {
	var late []string
	for _, r := range m.Registered {
		if !m.ready(r) && !m.now.Before(m.waitsUntil(r)) {
			late = append(late, r.Name)
		}
	}
	if len(late) == len(m.Registered) && !m.nothingToLose() {
		return nil
	}
	return late
}

// ready reports whether a registration trusts the next generation, and says so.
func (m distribution) ready(r Registration) bool {
	only := Facts{Registered: []Registration{r}}
	return only.distrusting(m.next.ca()) == "" && only.unfenced(m.next.Number) == ""
}

// waitsUntil is until when the next generation waits for a registration: a tenth of what was
// left of the current one when the next was stored. Where the Secret is lost, pods cannot start
// meanwhile, so a registration that the API server refuses to write is not waited for at all.
// Nor is one whose calls fail already, because it does not trust the current generation either.
func (m distribution) waitsUntil(r Registration) time.Time {
	refused := r.Refused != ""
	switch {
	case refused && (m.current == nil || !r.trusts(m.current.ca())):
		return m.begun
	case m.current == nil:
		return m.begun.Add(lostPatience)
	case refused:
		return m.begun.Add(m.tenth())
	default:
		return m.begun.Add(max(m.tenth(), turnLength))
	}
}

// tenth is a tenth of what was left of the current generation when the next was stored.
func (m distribution) tenth() time.Duration { return max(0, end(m.current.chain).Sub(m.begun)/10) }

// nothingToLose reports whether no call can succeed any more by what pods serve.
func (m distribution) nothingToLose() bool {
	if m.current == nil {
		return m.previousEnded()
	}
	return !m.now.Before(m.unverifiableAt())
}

// overdue reports whether the settle time no longer begins anew when a registration changes: one
// that changes all the time would hold up the others for ever. It begins once more for that.
func (m distribution) overdue() bool {
	patience := lostPatience
	if m.current != nil {
		patience = max(m.tenth(), turnLength)
	}
	return !m.trusted.Before(m.begun.Add(patience))
}

// awaiting says for what the next generation waits, and until when.
func (m distribution) awaiting(name, what string) string {
	at := slices.IndexFunc(m.Registered, func(r Registration) bool { return r.Name == name })
	r := m.Registered[at]
	text := name + " " + what
	if r.Refused != "" {
		text += ": " + r.Refused
	}
	if until := m.waitsUntil(r); until.After(m.now) && len(m.Registered) > 1 {
		text += fmt.Sprintf("; from %s on the other registrations do not wait for it any longer, and its calls fail then", instant(until))
	}
	return text
}

// patienceEnds are the instants from which on registrations are not waited for any longer.
func (m distribution) patienceEnds() []time.Time {
	var all []time.Time
	for _, r := range m.Registered {
		if !m.ready(r) {
			all = append(all, m.waitsUntil(r))
		}
	}
	return all
}
