package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// recentWindow is the interval in which slow repairs are counted for the report. They cause no pause.
const recentWindow = 10 * time.Minute

// recentRepairs are the latest ones of one client. A contest, which has its own message, removes them.
type recentRepairs struct {
	by    string
	field string
	at    []time.Time
}

func (r recentRepairs) repaired(field string, now time.Time) recentRepairs {
	at := append(slices.Clone(r.at), now)
	return recentRepairs{by: r.by, field: field, at: at[max(0, len(at)-limitOf(r.by)):]}
}

func (r recentRepairs) last() time.Time { return r.at[len(r.at)-1] }

func (r recentRepairs) overAt() time.Time { return r.last().Add(recentWindow) }

func (r recentRepairs) over(now time.Time) bool { return !now.Before(r.overAt()) }

func (r recentRepairs) reported(now time.Time) bool {
	return len(r.at) == limitOf(r.by) && r.last().Sub(r.at[0]) <= recentWindow && !r.over(now)
}

// withRecent returns the recent repairs after one more.
func (c Contest) withRecent(by, field string, now time.Time) []recentRepairs {
	recent := slices.DeleteFunc(slices.Clone(c.recent), func(r recentRepairs) bool { return r.over(now) })
	i := slices.IndexFunc(recent, func(r recentRepairs) bool { return r.by == by })
	if i < 0 {
		recent, i = append(recent, recentRepairs{by: by}), len(recent)
	}
	recent[i] = recent[i].repaired(field, now)
	return recent
}

func (c Contest) reported(now time.Time) []recentRepairs {
	return slices.DeleteFunc(slices.Clone(c.recent), func(r recentRepairs) bool { return !r.reported(now) })
}

// Report returns Message, and the clients that revert repairs too slowly for a pause.
func (c Contest) Report(key string, now time.Time) string {
	var all []string
	if message := c.Message(key, now); message != "" {
		all = append(all, message)
	}
	for _, r := range c.reported(now) {
		what, noun := revertedBy(r.by, r.field)
		all = append(all, fmt.Sprintf("%s: %s; %s. %s", key, what, lasting(noun, r.last(), r.overAt()), remedy(r.by)))
	}
	return strings.Join(all, "; ")
}
