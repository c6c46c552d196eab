package certs

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
)

// writtenNumber is the latest generation that a manager wrote a registration for. None is
// written again for an earlier one.
func (f Facts) writtenNumber() int64 {
	var latest int64
	for _, r := range f.Registered {
		latest = certgeneration.Latest(latest, r.Generation)
	}
	return latest
}

// outlived says why the current generation is of before a rotation that is over, so that somebody
// put back what the Secret was: its trust is not published any more, and pods serve something
// else. Empty when it is not.
func (s *state) outlived(f Facts, current *held) string {
	if written := f.writtenNumber(); certgeneration.Later(written, certgeneration.Latest(s.number, numberOf(current.ca()))) {
		return fmt.Sprintf("is of before certificate generation %d", written)
	}
	for _, r := range f.Registered {
		if s.next != nil && r.Generation != 0 && certgeneration.AtLeast(r.Generation, s.next.Number) && r.trusts(s.next.ca()) && !r.trusts(current.ca()) {
			return fmt.Sprintf("is of before %s was made to trust the next one alone", r.Name)
		}
	}
	return ""
}
