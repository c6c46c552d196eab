package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// prove looks whether every pod serves the current generation, and ends the trust in
// all others then, or when nothing else can be served any more. Whoever was seen to serve what
// has ended has to follow all the same.
func (m *machine) prove() {
	switch {
	case m.previousEnded() && m.current.unfit(m.Names, m.now) != "":
		if m.live() {
			m.write(m.forsake)
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
	case m.previousEnded() && m.Evidence.count(ServesOther) > 0:
		m.write(m.forsake)
	case m.previousEnded() && !m.awaitsRestart(*m.Evidence):
		m.write(m.retire)
	default:
		m.await(*m.Evidence)
	}
}

// previousEnded tells whether what pods may serve in place of the current generation has ended.
func (m *machine) previousEnded() bool {
	return !m.previousEnds.IsZero() && !m.now.Before(m.previousEnds)
}

// await has pods follow that do not yet, and says what it waits for.
func (m *machine) await(seen Evidence) {
	m.d.Endpoints = seen.String()
	m.d.Nudge = seen.nudges(m.promoted, m.now)
	restart := m.restarting(seen)
	m.restart = restart.at
	m.d.Restart = !restart.at.IsZero() && !m.now.Before(restart.at)
	m.d.Message = m.explain(seen) + restart.foretold
	m.d.Again = m.again(restart.at, seen.ThroughAPIServer)
}

func (m *machine) explain(seen Evidence) string {
	text := fmt.Sprintf("not every endpoint is seen to serve the new certificate (%s): %s", seen, seen.missing())
	switch {
	case m.previousEnds.IsZero() && len(m.Registered) > 0:
		text += "; calls to it fail until it does"
	case m.previousEnded():
	case m.sharesCA():
		text += "; the certificate before is of the same CA, and valid at most until " + instant(m.previousEnds)
	case !m.previousEnds.IsZero():
		text += "; the CA before stays trusted, at most until " + instant(m.previousEnds)
	}
	if m.due() && m.crowded() {
		text += fmt.Sprintf("; another certificate is due and waits for that, because %d earlier CAs are trusted already: restart or delete what does not serve the new one", len(m.previous))
	}
	return text
}

// sharesCA tells whether pods may serve another certificate of the current CA, and of no other.
func (m *machine) sharesCA() bool { return len(m.previous) == 0 && !m.previousEnds.IsZero() }

// again is the next look at pods: often at first, then in proportion to the wait so far.
func (m *machine) again(restart time.Time, costly bool) time.Time {
	shortest, longest := 250*time.Millisecond, 30*time.Second
	if costly {
		shortest, longest = 2*time.Second, maxNudgePause
	}
	pause := min(max(m.now.Sub(m.promoted)/8, shortest), longest)
	_, nudge := nudgeTimes(m.promoted, m.now)
	return earliest(m.now, m.now.Add(pause), nudge, restart, m.previousEnds)
}

// retire ends the trust in everything but the current generation.
func (m *machine) retire(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPromotedAt)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
	delete(s.Annotations, wellknown.AnnotationUnusableCA)
}
