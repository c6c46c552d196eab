package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"math"
	"time"
)

// Policy is the administrator's choice.
type Policy struct {
	// Validity is the time from the mint of a generation to its end. CA and leaf end
	// together: a CA whose key is gone is of no use beyond its only leaf.
	Validity time.Duration
	// RenewBefore is how long before its end a certificate is replaced; 0 is a third of
	// its life.
	RenewBefore time.Duration
	// ClockSkew is how far the beginning of a generation lies before its mint, for the
	// API servers and nodes whose clocks are behind the manager's.
	ClockSkew time.Duration
	// Key is the kind of the keys of CA and leaf.
	Key KeyType
	// Settle is how long API servers may take to learn of a change of a registration.
	Settle time.Duration
	// Grace is how long pods may take to serve a certificate that is mounted, before they
	// are restarted for it.
	Grace time.Duration
	// Parallel is how many certificates are replaced at once because they are due.
	Parallel int
}

// DefaultPolicy is 90 days of validity, begun 5 minutes early. The third of it that
// follows a renewal is 30 days, time enough to notice a manager that is down. Servers
// that reload do it within seconds of the kubelet's bringing the certificate.
func DefaultPolicy() Policy {
	return Policy{
		Validity: 90 * 24 * time.Hour, ClockSkew: 5 * time.Minute, Key: KeyECDSAP256,
		Settle: 5 * time.Second, Grace: 30 * time.Second, Parallel: 10,
	}
}

// request asks for a generation that is minted now.
func (p Policy) request(number int64, names []string, now time.Time) *Request {
	return &Request{
		Number:    number,
		Names:     names,
		Key:       p.Key,
		NotBefore: now.Add(-p.ClockSkew),
		NotAfter:  now.Add(p.Validity),
	}
}

// renewAt is when a chain of certificates is due, measured on the certificates
// themselves, so that a certificate of OLM's needs no rule of its own.
func (p Policy) renewAt(chain []*x509.Certificate) time.Time {
	return end(chain).Add(-p.renewBefore(chain)).Add(-jitter(chain))
}

// renewBefore is never all of a certificate's life: it would be due again at once.
func (p Policy) renewBefore(chain []*x509.Certificate) time.Duration {
	life := end(chain).Sub(chain[0].NotBefore)
	if p.RenewBefore <= 0 {
		return life / 3
	}
	return min(p.RenewBefore, life/10*9)
}

// jitter spreads certificates that were minted at one moment over a thirtieth of their
// life: 3 of 90 days.
func jitter(chain []*x509.Certificate) time.Duration {
	return time.Duration(drawn(chain) * float64(end(chain).Sub(chain[0].NotBefore)/30))
}

// drawn is a number from 0 to 1, of a certificate always the same.
func drawn(chain []*x509.Certificate) float64 {
	sum := sha256.Sum256(chain[0].Raw)
	return float64(binary.BigEndian.Uint64(sum[:])) / math.MaxUint64
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
