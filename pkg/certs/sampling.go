package certs

import (
	"time"
)

// Sampling is what calls tell that go through a Service to some of its backends, nobody knows
// which, and trust the CA of one certificate alone.
type Sampling struct {
	// Worthwhile is set when the calls are worth to be made.
	Worthwhile bool
	// Inconclusive is why nothing is known of anybody when all of them come through; empty when
	// everybody serves the certificate then.
	Inconclusive string
}

// Sampling judges calls that reach each backend alike, or do not, for the given reason. If a
// success proves nothing, a failure still shows that a backend serves another certificate, so that
// pods are restarted soon.
func (s *Serving) Sampling(unsampled string) Sampling {
	switch {
	case s.SharesCA:
		return Sampling{Inconclusive: "they come through with the certificate before as well"}
	case unsampled != "":
		return Sampling{Worthwhile: s.Recent, Inconclusive: unsampled}
	default:
		return Sampling{Worthwhile: true}
	}
}

// searchDuration is how long whoever serves another certificate is searched for by calls that prove
// nothing when they come through. Who takes longer is not missed by much: what pods may serve is
// trusted until they are restarted for it.
const searchDuration = 10 * time.Minute
