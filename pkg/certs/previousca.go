package certs

import (
	"fmt"
	"time"
)

// retire ends the trust in previous CAs: after every pod serves the current generation, or after
// all previous certificates have expired. If pods serve or may serve an expired one, they are still
// restarted. Trust does not end while a restart is awaited of pods that may serve one.
func (m *decider) retire() {
	expired := m.previousExpired()
	if m.current.invalid(m.Names, m.now) != "" {
		// API servers cannot verify it. Its issuer has to issue another one first.
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
	allExpired := expired && !servesExpired && !m.awaitsRestart(seen)
	switch {
	case m.restartRequested():
		m.d.Restart, m.d.PollAt = true, m.now.Add(time.Second)
	case aboutOtherLeaf:
		m.d.PollAt = m.now.Add(time.Second)
	case seen.complete() || allExpired:
		m.planWrite(editor.endRotation)
	case servesExpired:
		m.planWrite(editor.endPreviousTrust)
	default:
		m.awaitPods(seen)
	}
}

func (m *decider) awaitPods(seen Evidence) {
	m.d.Endpoints = seen.counts()
	m.d.ResyncPods = seen.podsToResync(m.promotedAt, m.now)
	restart := m.restartTime(seen)
	m.restart = restart.at
	m.d.Restart = !restart.at.IsZero() && !m.now.Before(restart.at)
	m.d.Message = m.explain(seen) + restart.text
	m.d.PollAt = m.pollAt(restart.at, seen.ThroughAPIServer)
}

// explain reports which endpoints do not serve the current certificate, and what follows.
func (m *decider) explain(seen Evidence) string {
	text := fmt.Sprintf("not every endpoint is seen to serve the new certificate (%s): %s", seen, seen.missing())
	switch {
	case m.previousExpiresAt.IsZero() && len(m.Registrations) > 0:
		text += "; calls to it fail until it does"
	case m.previousExpired():
	case m.sharesCA():
		text += "; the previous certificate is of the same CA, and valid at most until " + instant(m.previousExpiresAt)
	case !m.previousExpiresAt.IsZero():
		text += "; the previous CA stays trusted, at most until " + instant(m.previousExpiresAt)
	}
	if m.renewalDue() && m.bundleFull() {
		text += fmt.Sprintf("; another certificate is due and waits for that, because %d earlier CAs are trusted already: restart or delete what does not serve the new one", len(m.previous))
	}
	return text
}

// pollAt returns when pods are checked again: often at first, then in proportion to the time
// waited.
func (m *decider) pollAt(restart time.Time, costly bool) time.Time {
	shortest, longest := 250*time.Millisecond, 30*time.Second
	if costly {
		shortest, longest = 2*time.Second, maxResyncPause
	}
	pause := min(max(m.now.Sub(m.promotedAt)/8, shortest), longest)
	_, resync := resyncTimes(m.promotedAt, m.now)
	return earliest(m.now, m.now.Add(pause), resync, restart, m.previousExpiresAt)
}
