package certs

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// plannedRestart is the restart of pods that may not have reloaded the current generation; zero for none.
type plannedRestart struct {
	at   time.Time
	text string // announces it in the message of the rotation
}

// restartTime is after the grace time, if pods were observed to serve another generation. A restart that
// makes calls fail, or without knowledge of what pods serve, waits as long as possible.
func (m *rotation) restartTime(seen Evidence) plannedRestart {
	stale := seen.count(ServesOther) > 0
	switch {
	case !m.Running:
		return plannedRestart{}
	case stale && m.previousExpiresAt.IsZero():
		return m.announce("pods that do not reload", m.promotedAt.Add(m.policy.Settle))
	case stale && m.RestartCosts == "":
		return m.announce("pods that do not reload", m.promotedAt.Add(m.policy.Grace))
	case stale:
		return m.announce("pods that do not reload", m.restartDeadline())
	case m.previousExpiresAt.IsZero() || !m.mayServeOther(seen):
		return plannedRestart{}
	default:
		return m.announce("pods that are not known to serve it", m.restartDeadline())
	}
}

// restartDeadline is in the ninth tenth of the time for which pods may serve another certificate. It is derived
// from the certificate, so that certificates of the same age do not restart pods together. The grace time comes
// first, if it is over by then.
func (m *rotation) restartDeadline() time.Time {
	graceEnds := m.promotedAt.Add(m.policy.Grace)
	if m.previousExpired() {
		return graceEnds
	}
	tenth := m.previousExpiresAt.Sub(m.promotedAt) / 10
	last := m.previousExpiresAt.Add(-tenth)
	at := last.Add(-time.Duration(fraction(m.current.chain) * float64(tenth)))
	switch {
	case graceEnds.After(last):
		return last
	case graceEnds.After(at):
		return graceEnds
	default:
		return at
	}
}

// mayServeOther reports whether a pod may have mounted a previous certificate, and it is unknown what it serves.
func (m *rotation) mayServeOther(seen Evidence) bool {
	given := m.promotedAt.Add(m.policy.ClockSkew)
	return slices.ContainsFunc(seen.Backends, func(b Backend) bool { return b.Serves == ServesUnknown && !b.Created.After(given) })
}

func (m *rotation) awaitsRestart(seen Evidence) bool {
	return m.Running && m.mayServeOther(seen) && m.RestartedFor != strconv.FormatInt(m.current.Number, 10)
}

// announce explains what a restart costs, and how to have it at another time.
func (m *rotation) announce(what string, at time.Time) plannedRestart {
	var how string
	switch {
	case m.Paused:
		how = "have to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"
	case m.RestartCosts == "":
		how = fmt.Sprintf("are restarted from %s on, one by one, which makes calls fail if the server does not drain on termination", instant(at))
	case m.previousExpiresAt.IsZero():
		how = fmt.Sprintf("are restarted from %s on, which makes calls fail because %s", instant(at), m.RestartCosts)
	default:
		how = fmt.Sprintf("have to be restarted, which makes calls fail because %s: the restart waits until %s, restart them earlier if another time is better", m.RestartCosts, instant(at))
	}
	return plannedRestart{at, "; " + what + " " + how}
}
