package certs

import (
	"time"
)

// Sampling is what follows from calls that a Service distributes over its backends, and that trust
// the CA of one certificate alone.
type Sampling struct {
	// Worthwhile is set if the calls should be made.
	Worthwhile bool
	// Inconclusive is why successful calls prove nothing; empty if they prove that every backend
	// serves the certificate.
	Inconclusive string
}

// Sampling returns how to sample. unsampled is why calls do not reach every backend equally; empty
// if they do. If success proves nothing, a failure still shows that a backend serves another
// certificate, and pods are restarted soon.
func (s *Serving) Sampling(unsampled string) Sampling {
	switch {
	case s.SharesCA:
		return Sampling{Inconclusive: "they succeed with the previous certificate as well"}
	case unsampled != "":
		return Sampling{Worthwhile: s.Recent, Inconclusive: unsampled}
	default:
		return Sampling{Worthwhile: true}
	}
}

// searchDuration is how long calls whose success proves nothing are made to find backends with
// another certificate. After that, the previous CA stays trusted until the pods are restarted.
const searchDuration = 10 * time.Minute
