package certs

import (
	"fmt"
	"time"
)

// untrustPrevious ends the trust in previous CAs when pods serve the current certificate, or the previous ones have expired.
func (m *decider) untrustPrevious() {
	expired := m.previousExpired()
	if m.current.invalid(m.Names, m.now) != "" {
		// API servers can verify neither the current certificate nor a previous one: no evidence is
		// needed. The issuer has to issue another one first.
		if expired && m.requireLive() {
			m.planWrite(editor.endPreviousTrust)
		}
		return
	}
	if m.Evidence == nil || !m.Live {
		m.d.Need = NeedEvidence
		return
	}
	seen := *m.Evidence
	aboutOtherLeaf := seen.Leaf != m.current.leaf()
	servesExpired := expired && seen.count(ServesOther) > 0
	// Pods that may serve an expired certificate, and are to be restarted, are awaited.
	allExpired := expired && !servesExpired && !m.awaitsRestart(seen)
	switch {
	case m.restartRequested():
		m.d.Restart, m.d.PollAt = true, m.now.Add(m.pause(time.Second, longestPoll))
	case aboutOtherLeaf:
		m.d.PollAt = m.now.Add(m.pause(time.Second, longestPoll))
	case seen.complete() || allExpired:
		m.planWrite(editor.endRotation)
	case servesExpired: // calls to these pods fail already; the rotation continues until they are restarted
		m.planWrite(editor.endPreviousTrust)
	default:
		m.awaitPods(seen)
	}
}

func (m *decider) awaitPods(seen Evidence) {
	m.d.Endpoints = seen.counts()
	m.d.ResyncPods = seen.podsToResync(m.promotedAt, m.now)
	planned := m.restartTime(seen)
	m.restartAt = planned.at
	m.d.Restart = !planned.at.IsZero() && !m.now.Before(planned.at)
	m.d.Message = m.explain(seen) + planned.text
	m.d.PollAt = m.pollAt(planned.at, seen.ThroughAPIServer)
}

// explain reports which endpoints do not serve the current certificate, and what follows.
func (m *decider) explain(seen Evidence) string {
	text := fmt.Sprintf("not every endpoint is observed to serve the new certificate (%s): %s", seen, seen.missing())
	switch {
	case m.previousExpiresAt.IsZero() && len(m.Registrations) > 0:
		text += "; calls to it fail until it does"
	case m.previousExpired():
	case m.sharesCA():
		text += "; the previous certificate has the same CA, and is valid at most until " + instant(m.previousExpiresAt)
	case !m.previousExpiresAt.IsZero():
		text += "; the previous CA stays trusted, at most until " + instant(m.previousExpiresAt)
	}
	if m.renewalDue() && m.tooManyPrevious() {
		text += fmt.Sprintf("; another certificate is due for renewal and waits for that, because %d earlier CAs are trusted already: restart or delete what does not serve the new one", len(m.previous))
	}
	return text
}

// longestPoll is the longest pause between two checks of pods that the manager can dial.
const longestPoll = 30 * time.Second

func (m *decider) pollAt(restartAt time.Time, costly bool) time.Time {
	pause := m.pause(250*time.Millisecond, longestPoll)
	if costly {
		pause = m.pause(2*time.Second, maxResyncPause)
	}
	_, resync := resyncTimes(m.promotedAt, m.now)
	return earliest(m.now, m.now.Add(pause), resync, restartAt, m.previousExpiresAt)
}

// pause is short at first, then in proportion to the time since the promotion.
func (m *decider) pause(shortest, longest time.Duration) time.Duration {
	return min(max(m.now.Sub(m.promotedAt)/8, shortest), longest)
}
