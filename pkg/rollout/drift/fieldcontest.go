package drift

import (
	"slices"
	"strings"
	"time"
)

// FieldContest records written fields of an object that the manager does not own, and the reverted writes.
type FieldContest struct {
	// Values are the latest written values by field. The value of a removed field is empty.
	Values  map[string]string
	Repairs Contest
}

// Rewritten returns the fields whose latest written value is the same.
func (c FieldContest) Rewritten(fields map[string]string) []string {
	var rewritten []string
	for field, value := range fields {
		if last, wrote := c.Values[field]; wrote && last == value {
			rewritten = append(rewritten, field)
		}
	}
	slices.Sort(rewritten)
	return rewritten
}

// Held returns the fields that another client reverted too often, and until when not to write them.
func (c FieldContest) Held(fields map[string]string, now time.Time) (held []string, until time.Time) {
	if until = c.Repairs.BlockedUntil(now); until.IsZero() {
		return nil, time.Time{}
	}
	if held = c.Rewritten(fields); len(held) == 0 {
		return nil, time.Time{}
	}
	return held, until
}

// RevertedByAdmission is the message about the fields of a kind.
func RevertedByAdmission(fields []string, kind string) string {
	return "admission takes back the change of " + strings.Join(fields, ", ") + ": exclude the " + kind + " from the mutating webhook or MutatingAdmissionPolicy"
}
