package certs

import (
	"fmt"
	"time"
)

// prove looks whether every pod serves the current generation, and ends the trust in
// all others then, or when nothing else can be served any more. Whoever was seen to serve what
// has ended has to follow all the same.
func (m *decider) prove() {
	switch {
	case m.previousEnded() && m.current.unfit(m.Names, m.now) != "":
		if m.live() {
			m.write(m.edit().forsake)
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
		m.write(m.edit().retire)
	case m.previousEnded() && m.Evidence.count(ServesOther) > 0:
		m.write(m.edit().forsake)
	case m.previousEnded() && !restarter{&m.rotation}.awaitsRestart(*m.Evidence):
		m.write(m.edit().retire)
	default:
		m.await(*m.Evidence)
	}
}

// await has pods follow that do not yet, and says what it waits for.
func (m *decider) await(seen Evidence) {
	m.d.Endpoints = seen.String()
	m.d.Nudge = seen.nudges(m.promoted, m.now)
	restart := restarter{&m.rotation}.restarting(seen)
	m.restart = restart.at
	m.d.Restart = !restart.at.IsZero() && !m.now.Before(restart.at)
	m.d.Message = m.explain(seen) + restart.foretold
	m.d.Again = m.again(restart.at, seen.ThroughAPIServer)
}

func (m *decider) explain(seen Evidence) string {
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

// again is the next look at pods: often at first, then in proportion to the wait so far.
func (m *decider) again(restart time.Time, costly bool) time.Time {
	shortest, longest := 250*time.Millisecond, 30*time.Second
	if costly {
		shortest, longest = 2*time.Second, maxNudgePause
	}
	pause := min(max(m.now.Sub(m.promoted)/8, shortest), longest)
	_, nudge := nudgeTimes(m.promoted, m.now)
	return earliest(m.now, m.now.Add(pause), nudge, restart, m.previousEnds)
}
