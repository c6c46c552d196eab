package certs

import (
	"fmt"
	"strconv"
	"time"
)

// restarter decides when pods are restarted because they do not reload the current generation.
type restarter struct{ *rotation }

// restarting is when pods are replaced that do not take up the current generation, or may not
// have; never for the zero.
type restarting struct {
	at       time.Time
	foretold string // in the message, which is read before it happens
}

// restarting is for pods that were seen to serve another generation after the grace time, in
// which they could have reloaded. Where a restart makes calls fail, and where nobody knows what
// pods serve, it waits until it must be.
func (m restarter) restarting(seen Evidence) restarting {
	stale := seen.count(ServesOther) > 0
	switch {
	case !m.Running:
		return restarting{}
	case stale && m.previousEnds.IsZero():
		return m.foretell("what does not reload", m.promoted.Add(m.policy.Settle))
	case stale && m.RestartCosts == "":
		return m.foretell("what does not reload", m.promoted.Add(m.policy.Grace))
	case stale:
		return m.foretell("what does not reload", m.mustRestart())
	case m.previousEnds.IsZero() || !m.mayBeStale(seen):
		return restarting{}
	default:
		return m.foretell("what is not known to serve it", m.mustRestart())
	}
}

// mustRestart is when a restart can be put off no longer: in the ninth tenth of the time for which
// pods may serve something else, at a moment drawn from the certificate, since those that were
// minted together end together. They get the grace time first, if that is over by then.
func (m restarter) mustRestart() time.Time {
	graceEnds := m.promoted.Add(m.policy.Grace)
	if m.previousEnded() {
		return graceEnds
	}
	tenth := m.previousEnds.Sub(m.promoted) / 10
	last := m.previousEnds.Add(-tenth)
	at := last.Add(-time.Duration(drawn(m.current.chain) * float64(tenth)))
	switch {
	case graceEnds.After(last):
		return last
	case graceEnds.After(at):
		return graceEnds
	default:
		return at
	}
}

// mayBeStale tells whether there is somebody of whom nobody knows what he serves, and who may have
// mounted it before the current generation was given to pods.
func (m restarter) mayBeStale(seen Evidence) bool {
	return seen.unknownSince(m.promoted.Add(m.policy.ClockSkew)) > 0
}

// awaitsRestart tells whether such pods have to be restarted, and have not been.
func (m restarter) awaitsRestart(seen Evidence) bool {
	return m.Running && m.mayBeStale(seen) && m.RestartedFor != strconv.FormatInt(m.current.Number, 10)
}

// foretell says what a restart costs, and how to have it at another moment.
func (m restarter) foretell(what string, at time.Time) restarting {
	var how string
	switch {
	case m.Paused:
		how = "has to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"
	case m.RestartCosts == "":
		how = fmt.Sprintf("is restarted from %s on, pod by pod, which makes calls fail if it does not drain when it is told to end", instant(at))
	case m.previousEnds.IsZero():
		how = fmt.Sprintf("is restarted from %s on, which makes calls fail because %s", instant(at), m.RestartCosts)
	default:
		how = fmt.Sprintf("has to be restarted, which makes calls fail because %s: it is put off until %s, restart it at a better moment", m.RestartCosts, instant(at))
	}
	return restarting{at, "; " + what + " " + how}
}
