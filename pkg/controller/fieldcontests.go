package controller

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// fieldContests remembers what the manager wrote to single fields of objects that are not its own, and how
// often it repaired what another client changed back.
type fieldContests struct {
	mutex sync.Mutex
	known map[written]fieldContest
}

// written identifies an object with such fields. One that is created again under its name is another one: nobody
// took back what was written to the object before it.
type written struct {
	title string // for people
	uid   types.UID
}

// fieldContestsLast is how long a write is remembered. It is longer than any pause.
const fieldContestsLast = time.Hour

type fieldContest struct {
	values  map[string]string // the value that each field was given last; empty where it was removed
	at      time.Time         // of the latest write
	repairs drift.Contest
}

// wrote records a write of fields with their values. The same value for a second time is a repair.
func (f *fieldContests) wrote(object written, fields map[string]string, now time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.known == nil {
		f.known = map[written]fieldContest{}
	}
	maps.DeleteFunc(f.known, func(_ written, c fieldContest) bool { return now.Sub(c.at) > fieldContestsLast })
	contest, there := f.known[object]
	contest.at = now
	if !there {
		contest.values = map[string]string{}
	}
	if again := contest.again(fields); len(again) > 0 {
		contest.repairs = contest.repairs.Repaired(drift.Drift{Fields: again}, now)
	}
	for field, value := range fields {
		contest.values[field] = value
	}
	f.known[object] = contest
}

// again are those fields that have been given their value before.
func (c fieldContest) again(fields map[string]string) []string {
	var again []string
	for field, value := range fields {
		if last, wrote := c.values[field]; wrote && last == value {
			again = append(again, field)
		}
	}
	slices.Sort(again)
	return again
}

// held returns those fields that are left as they are for now, because another client changed them back too
// often, until when, and the reason.
func (f *fieldContests) held(object written, fields map[string]string, now time.Time) (held []string, until time.Time, why string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	contest := f.known[object]
	if until = contest.repairs.HeldUntil(now); until.IsZero() {
		return nil, time.Time{}, ""
	}
	if held = contest.again(fields); len(held) == 0 {
		return nil, time.Time{}, ""
	}
	return held, until, contest.repairs.Message(object.title, now)
}

// of is the record of an object.
func (f *fieldContests) of(object written) drift.Contest {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.known[object].repairs
}

// takenBack says that admission undid the change of some fields, and the way out.
func takenBack(fields []string, object string) string {
	return "admission takes back the change of " + strings.Join(fields, ", ") + ": exclude the " + object + " from the mutating webhook or MutatingAdmissionPolicy"
}
