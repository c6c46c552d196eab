package certs

import (
	"time"
)

// Sampling is about calls that a Service distributes, and that trust one certificate's CA alone.
type Sampling struct {
	// Worthwhile is set if the calls should be made.
	Worthwhile bool
	// Inconclusive is why successful calls prove nothing; empty if they prove that all backends serve it.
	Inconclusive string
}

// Sampling returns how to sample. unsampled is why calls do not reach every backend equally. A failure shows
// in any case that a backend serves another certificate, and pods are restarted soon.
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

// After searchDuration, the previous CA stays trusted until the pods are restarted.
const searchDuration = 10 * time.Minute
