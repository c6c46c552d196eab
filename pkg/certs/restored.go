package certs

import (
	"fmt"
	"math"
)

// writtenNumber is the highest generation that a manager wrote a registration for. None is
// written again for a lower one.
func (f Facts) writtenNumber() int64 {
	var highest int64
	for _, r := range f.Registered {
		if r.Generation <= math.MaxUint32 {
			highest = max(highest, r.Generation)
		}
	}
	return highest
}

// outlived says why the current generation is of before a rotation that is over, so that somebody
// put back what the Secret was: its trust is not published any more, and pods serve something
// else. Empty when it is not.
func (s *state) outlived(f Facts, current *held) string {
	if written := f.writtenNumber(); max(s.number, numberOf(current.ca())) < written {
		return fmt.Sprintf("is of before certificate generation %d", written)
	}
	for _, r := range f.Registered {
		if s.next != nil && r.Generation >= s.next.Number && r.Generation > 0 && r.trusts(s.next.ca()) && !r.trusts(current.ca()) {
			return fmt.Sprintf("is of before %s was made to trust the next one alone", r.Name)
		}
	}
	return ""
}
