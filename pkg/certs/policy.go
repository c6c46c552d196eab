package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Policy is the configuration of the administrator.
type Policy struct {
	// Validity applies to CA and leaf: a CA without its key can sign nothing else.
	Validity time.Duration
	// RenewBefore is measured from the expiry; 0 is a third of the validity.
	RenewBefore time.Duration
	// ClockSkew is by how much a generation is backdated, for clocks that are behind.
	ClockSkew time.Duration
	Key       KeyType
	// Settle is how long API servers may take to observe a change of a registration.
	Settle time.Duration
	// Grace is how long pods may take to reload a mounted certificate before they are restarted.
	Grace time.Duration
	// Parallel is how many certificates are replaced at the same time because they are due for renewal.
	Parallel int
}

// DefaultPolicy renews in the last 30 days: enough to notice that the manager is down. Servers reload in seconds.
func DefaultPolicy() Policy {
	return Policy{
		Validity: 90 * 24 * time.Hour, ClockSkew: 5 * time.Minute, Key: KeyECDSAP256,
		Settle: 5 * time.Second, Grace: 30 * time.Second, Parallel: 10,
	}
}

func (p Policy) request(number int64, names []string, now time.Time) *Request {
	return &Request{
		Number:    number,
		Names:     names,
		Key:       p.Key,
		NotBefore: now.Add(-p.ClockSkew),
		NotAfter:  now.Add(p.Validity),
	}
}

// renewAt uses the certificates themselves, so that OLM's need no rule of their own.
func (p Policy) renewAt(chain []*x509.Certificate) time.Time {
	return expiry(chain).Add(-p.renewBefore(chain)).Add(-jitter(chain))
}

func (p Policy) renewBefore(chain []*x509.Certificate) time.Duration {
	return RenewBefore(p.RenewBefore, expiry(chain).Sub(chain[0].NotBefore))
}

// RenewBefore returns the configured duration, at most nine tenths of the validity; a third of it for 0.
func RenewBefore(configured, validity time.Duration) time.Duration {
	if configured <= 0 {
		return validity / 3
	}
	return min(configured, validity/10*9)
}

// jitter spreads certificates of the same age over a thirtieth of their validity: 3 of 90 days.
func jitter(chain []*x509.Certificate) time.Duration {
	return time.Duration(fraction(chain) * float64(expiry(chain).Sub(chain[0].NotBefore)/30))
}

func fraction(chain []*x509.Certificate) float64 {
	sum := sha256.Sum256(chain[0].Raw)
	return float64(binary.BigEndian.Uint64(sum[:])) / math.MaxUint64
}

func expiry(chain []*x509.Certificate) time.Time {
	return slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
}

// PolicyFrom changes the policy by the annotations of one operator. It reports and ignores invalid ones.
func PolicyFrom(defaults Policy, annotations map[string]string) (Policy, []string) {
	p, problems := defaults, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		changed := p
		known, err := changed.set(name, annotations[name])
		switch {
		case !known:
		case err != nil:
			problems = append(problems, fmt.Sprintf("annotation %s: %v", name, err))
		default:
			p = changed
		}
	}
	if err := p.Validate(); err != nil {
		return defaults, append(problems, "the annotations together: "+err.Error())
	}
	return p, problems
}

func (p *Policy) set(annotation, value string) (known bool, err error) {
	switch annotation {
	case wellknown.AnnotationCertificateValidity:
		p.Validity, err = time.ParseDuration(value)
	case wellknown.AnnotationCertificateRenewBefore:
		p.RenewBefore, err = time.ParseDuration(value)
	case wellknown.AnnotationCertificateClockSkew:
		p.ClockSkew, err = time.ParseDuration(value)
	case wellknown.AnnotationCertificateKey:
		p.Key, err = ParseKeyType(value)
	default:
		return false, nil
	}
	return true, err
}

// ParseKeyType returns the key type of a name, or an error that lists the known names.
func ParseKeyType(text string) (KeyType, error) {
	var known []string
	for _, kind := range keyTypes {
		if strings.EqualFold(string(kind), text) {
			return kind, nil
		}
		known = append(known, string(kind))
	}
	return "", fmt.Errorf("%q is no kind of key: use one of %s", text, strings.Join(known, ", "))
}

// A certificate must outlive its rotation while the manager is down for a while. An unlimited one would leak.
const (
	minValidity = time.Hour
	maxValidity = 10 * 365 * 24 * time.Hour
	minRenewal  = 5 * time.Minute
	maxSkew     = time.Hour
	maxSettle   = 10 * time.Minute
	maxGrace    = 24 * time.Hour
)

// Validate returns what is wrong with a policy, and what is valid.
func (p Policy) Validate() error {
	switch {
	case p.Validity < minValidity || p.Validity > maxValidity:
		return fmt.Errorf("a validity of %s: choose from %s to %s", p.Validity, minValidity, maxValidity)
	case p.RenewBefore < 0 || p.RenewBefore > p.Validity/10*9:
		return fmt.Errorf("to renew %s before the end: choose up to nine tenths of the validity of %s, or 0 for a third of it", p.RenewBefore, p.Validity)
	case p.ClockSkew < 0 || p.ClockSkew > maxSkew:
		return fmt.Errorf("a clock skew of %s: choose up to %s", p.ClockSkew, maxSkew)
	case p.Settle < 0 || p.Settle > maxSettle:
		return fmt.Errorf("a settle time of %s: choose up to %s", p.Settle, maxSettle)
	case p.Grace <= 0 || p.Grace > maxGrace:
		return fmt.Errorf("a time to reload of %s: choose up to %s", p.Grace, maxGrace)
	case p.Parallel < 1:
		return fmt.Errorf("%d rotations at once: choose at least 1", p.Parallel)
	}
	// API servers observe the next CA, pods reload in the grace time, and a restart may take as long again.
	needed := max(minRenewal, p.Settle+2*p.Grace)
	if renewal := RenewBefore(p.RenewBefore, p.Validity); renewal < needed {
		return fmt.Errorf("certificate-renew-before: %s before the end is too late, a rotation takes up to %s with a time to reload of %s: choose at least that, or 0 (a third of the validity of %s)",
			renewal, needed, p.Grace, p.Validity)
	}
	_, err := ParseKeyType(string(p.Key))
	return err
}

// Warning returns what a policy may break; empty for nothing.
func (p Policy) Warning() string {
	if p.Key == KeyEd25519 {
		return "Ed25519 keys are refused by API servers and webhook servers that were built with a FIPS 140 module without Ed25519: calls to such webhooks would fail; ECDSA-P256 works everywhere"
	}
	return ""
}
