package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// prove looks whether every pod serves the current generation, and ends the trust in
// all others then, or when nothing else can be served any more.
func (m *machine) prove() {
	switch {
	case !m.previousEnds.IsZero() && !m.now.Before(m.previousEnds):
		if m.live() {
			m.write(m.retire)
		}
	case m.current.unfit(m.Names, m.now) != "":
		// Nobody could verify it, whoever serves it: its issuer has to issue another first.
	case m.Evidence == nil || !m.Live:
		m.d.Need = NeedEvidence
	case m.restarts():
		m.d.Restart, m.d.Again = true, m.now.Add(time.Second)
	case m.Evidence.Leaf != m.current.leaf():
		m.d.Again = m.now.Add(time.Second) // it speaks of another certificate
	case m.Evidence.complete():
		m.write(m.retire)
	default:
		m.await(*m.Evidence)
	}
}

// await has pods follow that do not yet, and says what it waits for.
func (m *machine) await(seen Evidence) {
	m.d.Endpoints = seen.String()
	m.d.Nudge = seen.nudges(m.promoted, m.now)
	restart, certain := m.restartAt(seen)
	if certain && m.Running {
		m.restart = restart
		m.d.Restart = !m.now.Before(restart)
	}
	m.d.Message = m.explain(seen, restart, certain)
	m.d.Again = m.again(restart, seen.ThroughAPIServer)
}

// restartAt is when to restart pods that do not serve the current generation. Those
// that were seen to serve another have had the grace time to reload. Where a restart
// makes calls fail, and where nothing is known, it waits until it must be.
func (m *machine) restartAt(seen Evidence) (at time.Time, certain bool) {
	stale := seen.count(ServesOther) > 0
	switch {
	case stale && m.previousEnds.IsZero():
		return m.promoted.Add(m.policy.Settle), true
	case stale && m.RestartCosts == "":
		return m.promoted.Add(m.policy.Grace), true
	case m.previousEnds.IsZero():
		return time.Time{}, false
	default:
		return m.previousEnds.Add(-m.previousEnds.Sub(m.promoted) / 10), true
	}
}

func (m *machine) explain(seen Evidence, restart time.Time, certain bool) string {
	text := fmt.Sprintf("not every endpoint is seen to serve the new certificate (%s): %s", seen, seen.missing())
	switch {
	case m.previousEnds.IsZero() && len(m.Registered) > 0:
		text += "; calls to it fail until it does"
	case !m.previousEnds.IsZero():
		text += "; the CA before stays trusted, at most until " + instant(m.previousEnds)
	}
	if m.due() && m.crowded() {
		text += fmt.Sprintf("; another certificate is due and waits for that, because %d earlier CAs are trusted already: restart or delete what does not serve the new one", len(m.previous))
	}
	stale := seen.count(ServesOther) > 0
	switch {
	case !certain || !m.Running:
	case stale && m.Paused:
		text += "; what does not reload has to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"
	case stale && m.RestartCosts != "" && !m.previousEnds.IsZero():
		text += fmt.Sprintf("; what does not reload has to be restarted, which makes calls fail because %s: it is put off until %s, restart it at a better moment", m.RestartCosts, instant(restart))
	case stale:
		text += fmt.Sprintf("; what does not reload is restarted from %s on, pod by pod, which makes calls fail if it does not drain when it is told to end", instant(restart))
	}
	return text
}

// again is the next look at pods: often at first, then in proportion to the wait so far.
func (m *machine) again(restart time.Time, costly bool) time.Time {
	shortest, longest := 250*time.Millisecond, 30*time.Second
	if costly {
		shortest = 2 * time.Second
	}
	pause := min(max(m.now.Sub(m.promoted)/8, shortest), longest)
	_, nudge := nudgeTimes(m.promoted, m.now)
	return earliest(m.now, m.now.Add(pause), nudge, restart, m.previousEnds)
}

// retire ends the trust in everything but the current generation.
func (m *machine) retire(s *corev1.Secret) {
	delete(s.Data, vocabulary.KeyPreviousCAs)
	delete(s.Annotations, vocabulary.AnnotationPromoted)
	delete(s.Annotations, vocabulary.AnnotationPreviousEnds)
}
