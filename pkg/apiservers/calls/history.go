package calls

import "time"

// Policy is when calls count as failing.
type Policy struct {
	// Interval is the time between two readings.
	Interval time.Duration
}

const (
	// targetRatio is the share of calls that a webhook must answer.
	targetRatio = 0.999
	// recoveryIntervals is for how many intervals no call may fail until the webhook counts as reached: a webhook of which some
	// calls fail does not change the status in each interval.
	recoveryIntervals = 4
	// forgetAfter is how long a failure counts if no call follows.
	forgetAfter = time.Hour
)

// History is what is known about the calls of one API server.
type History struct {
	started  float64
	Webhooks map[Webhook]State
}

// State is what is known about the calls from one API server to one webhook.
type State struct {
	counters Counters
	// Calls and Failed count since the first reading.
	Calls, Failed float64
	// Admitted counts the failed calls whose requests were admitted, because failurePolicy is Ignore or the webhook is open.
	Admitted float64
	// Percentile99 is the duration of the calls between the last two readings between which there were any, in seconds.
	Percentile99 float64
	// Failure is why calls fail; nil if none is known to.
	Failure *Failure
	// shared are the configurations with a webhook of this name, if there were several while calls failed.
	shared []string

	failedAt   time.Time
	answeredAt time.Time
}

// Failure is why calls fail.
type Failure struct {
	Error string
	Since time.Time // in whole seconds, as the status has it
}

// Next returns what is known after a reading. known are the webhooks that are registered, each with the failure that was
// reported earlier: it counts for a webhook without a history, as after a restart of the manager. The first counters of a
// webhook or of a process say nothing: they count earlier calls, too.
func (h History) Next(p Policy, reading Reading, known map[Webhook]*Failure, now time.Time) History {
	next := History{started: reading.Started, Webhooks: make(map[Webhook]State, len(known))}
	for webhook, reported := range known {
		state, found := h.Webhooks[webhook]
		if !found {
			state.Failure = reported
			if reported != nil {
				state.failedAt = now
			}
		}
		counters := reading.Webhooks[webhook]
		if counted, ok := counters.since(state.counters); ok && found && h.started == reading.Started {
			state = state.after(counted, p, now)
		}
		state.counters = counters
		next.Webhooks[webhook] = state.forget(now)
	}
	return next
}

// unread returns what is known after a time without a reading.
func (h History) unread(known map[Webhook]*Failure, now time.Time) History {
	next := History{started: h.started, Webhooks: map[Webhook]State{}}
	for webhook := range known {
		if state, found := h.Webhooks[webhook]; found {
			next.Webhooks[webhook] = state.forget(now)
		}
	}
	return next
}

// after returns the state after the calls between two readings.
func (s State) after(counted Counters, p Policy, now time.Time) State {
	failed, reason := counted.failed()
	s.Calls, s.Failed, s.Admitted = s.Calls+counted.Calls, s.Failed+failed, s.Admitted+counted.Failed[passed]
	if counted.Calls > 0 {
		s.Percentile99 = counted.Percentile99()
	}
	if counted.Answered > 0 {
		s.answeredAt = now
	}
	switch {
	case failed > (1-targetRatio)*counted.Calls:
		s.failedAt = now
		if s.Failure == nil {
			s.Failure = &Failure{reason, now.Truncate(time.Second)}
		}
	case s.Failure != nil && s.answeredAt.After(s.failedAt) && now.Sub(s.failedAt) >= recoveryIntervals*p.Interval:
		s.Failure = nil
	}
	return s
}

func (s State) forget(now time.Time) State {
	if s.Failure != nil && now.Sub(s.failedAt) >= forgetAfter {
		s.Failure = nil
	}
	return s
}

func (s State) attributed(configurations []string) State {
	switch {
	case s.Failure == nil:
		s.shared = nil
	case len(configurations) > 1:
		s.shared = configurations
	case len(s.shared) > 0:
		s.Failure, s.shared = nil, nil
	}
	return s
}
