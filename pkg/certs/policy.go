package certs

import (
	"crypto/x509"
	"time"
)

// Policy is how long the certificates live that Decide asks for.
type Policy struct {
	// Validity is the time from the mint of a generation to its end. CA and leaf end
	// together: a CA whose key is gone is of no use beyond its only leaf.
	Validity time.Duration
	// ClockSkew is how far the beginning of a generation lies before its mint, for the
	// API servers and nodes whose clocks are behind the manager's.
	ClockSkew time.Duration
}

// DefaultPolicy is 90 days of validity, begun 5 minutes early. The third of it that
// follows a renewal is 30 days, time enough to notice a manager that is down.
func DefaultPolicy() Policy {
	return Policy{Validity: 90 * 24 * time.Hour, ClockSkew: 5 * time.Minute}
}

// request asks for a generation that is minted now.
func (p Policy) request(number int64, names []string, now time.Time) *Request {
	return &Request{
		Number:    number,
		Names:     names,
		NotBefore: now.Add(-p.ClockSkew),
		NotAfter:  now.Add(p.Validity),
	}
}

// renewAt is when a chain of certificates is due: two thirds through the leaf's
// life, measured on the certificate itself, so that a change of policy or a
// certificate of OLM's needs no rule of its own.
func renewAt(chain []*x509.Certificate) time.Time {
	begin := chain[0].NotBefore
	return begin.Add(end(chain).Sub(begin) / 3 * 2)
}

// end is when the first certificate of a chain ends.
func end(chain []*x509.Certificate) time.Time {
	first := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}
