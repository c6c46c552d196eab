package rollout

import (
	"fmt"
	"time"
)

const (
	contestAfter  = 3
	contestWindow = time.Minute
	contestLimit  = 10 * time.Minute
)

// Contest is the record of repairs to one object that the same other client undid.
type Contest struct {
	By    string    // field manager of the other client; empty when it deleted the object
	Field string    // the first field that it changed
	Count int       // repairs so far
	First time.Time // the first of them
	Last  time.Time // the latest of them
}

// Repaired is the record after one more repair. A quiet time, or another client,
// begins a new record, and so do repairs too few for a contest in their time.
func (c Contest) Repaired(drift Drift, now time.Time) Contest {
	if c.By != drift.By || c.Over(now) || !c.Contested() && now.Sub(c.First) > contestWindow {
		c = Contest{By: drift.By, First: now}
	}
	c.Count++
	c.Last = now
	c.Field = "the object itself"
	if len(drift.Fields) > 0 {
		c.Field = drift.Fields[0]
	}
	return c
}

// Over tells whether the other client has been quiet for so long that the record
// may be forgotten.
func (c Contest) Over(now time.Time) bool {
	return c.Count == 0 || !now.Before(c.OverAt())
}

// OverAt is when the record may be forgotten, if nothing more happens.
func (c Contest) OverAt() time.Time { return c.Last.Add(2 * max(c.pause(), contestWindow)) }

// Contested tells whether the other client undid repairs so often, in so short a
// time, that the manager leaves the object alone for a while.
func (c Contest) Contested() bool { return c.Count >= contestAfter }

// HeldUntil is when the manager may repair the object again.
func (c Contest) HeldUntil() time.Time {
	if !c.Contested() {
		return c.Last
	}
	return c.Last.Add(c.pause())
}

// holds tells whether to leave alone, for now, what the given field manager changed.
func (c Contest) holds(by string, now time.Time) bool {
	return c.By == by && c.Contested() && now.Before(c.HeldUntil())
}

// pause doubles with every repair that was undone.
func (c Contest) pause() time.Duration {
	if c.Count < contestAfter {
		return 0
	}
	return min(contestWindow<<min(c.Count-contestAfter, 8), contestLimit)
}

// Message tells people who fights the manager, over what, and how to end it.
func (c Contest) Message(key string) string {
	by := "a client that field ownership does not show"
	if c.By != "" {
		by = fmt.Sprintf("field manager %q", c.By)
	}
	return fmt.Sprintf("%s: %s keeps changing %s back; the manager repairs it again at %s. Stop that client, or delete the ClusterServiceVersion",
		key, by, c.Field, c.HeldUntil().UTC().Format(time.RFC3339))
}
