package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

func (m *decider) conclude() Decision {
	m.recreate()
	if m.ReadOnly || m.d.Remove != nil && m.Recreated {
		m.d.Write, m.d.Remove = nil, nil
	}
	if m.d.Write != nil {
		m.d.Message, m.d.PollAt = "", time.Time{}
		m.Secret = m.d.Write
		m.state = readSecret(m.Facts, m.now)
	}
	trusted := trustworthy(m.desiredCAs(), m.now, m.currentAndNext()...)
	m.d.Phase = m.phase(trusted)
	m.d.Trust, m.d.TrustedCAs = encode(trusted...), len(trusted)
	m.d.Generation = m.number
	m.d.RotateAtPending = m.rotateAtRequest()
	m.d.Reissue, m.d.Rejected = m.needsReissue(), m.rejected()
	times := m.changeTimes(trusted)
	if m.d.Message == "" {
		m.d.Message = m.notYetValid()
	}
	m.reportFailing()
	if m.d.Problem = m.unusable(); m.d.Problem == "" && m.current != nil {
		m.d.Serving, m.d.Propagation = m.serving(m.current), m.propagation
	}
	m.d.ChangesAt = earliest(m.now, times...)
	return m.d
}

// unusable returns why the Secret cannot be used; empty if it can, or if it was never necessary.
func (m *decider) unusable() string {
	remedy := "; a new certificate replaces it"
	if !m.managerIssues() {
		remedy += " as soon as " + string(m.Provider) + " has issued one"
	}
	switch {
	case m.current == nil && m.Secret == nil && len(m.Registrations) == 0:
		return ""
	case m.current == nil:
		return m.problem + remedy
	}
	if why := m.current.invalid(m.Names, m.now); why != "" {
		return fmt.Sprintf("Secret %s/%s: %s%s", m.Secret.Namespace, m.Secret.Name, why, remedy)
	}
	return ""
}

func (m *decider) serving(c *keyPair) *Serving {
	ca := encode(c.ca())
	return &Serving{
		Number: certgeneration.Latest(c.Number, NumberOf(c.ca())), Provider: m.currentProvider, Leaf: c.leaf(),
		SharesCA: m.sharesCA(), Recent: m.recent(),
		CA: ca, CAHash: hexSHA256(ca), CAFingerprint: hexSHA256(c.ca().Raw),
		NotBefore: c.chain[0].NotBefore, NotAfter: expiry(c.chain), RenewAt: m.policy.renewAt(c.chain),
		Updated: m.updatedAt,
	}
}

// desiredCAs keeps what registrations trust while the Secret does not show what pods may serve.
func (m *rotation) desiredCAs() []*x509.Certificate {
	all := m.authorities()
	if m.current == nil || m.mayLackServedCAs() {
		all = append(all, m.registeredCAs()...)
	}
	return newestFirst(all)
}

// mayLackServedCAs reports whether the Secret may lack CAs of what pods serve: the annotations were lost, or pods are
// being given another certificate while another client may have removed the previous CAs.
func (m *rotation) mayLackServedCAs() bool {
	return m.unidentified || !m.promotedAt.IsZero() && !m.previousExpiresAt.IsZero()
}

func (m *decider) phase(trusted []*x509.Certificate) managerv1alpha1.CertificatePhase {
	switch {
	case m.current == nil && len(m.Registrations) == 0:
		return managerv1alpha1.CertificateBootstrap
	case m.next != nil || m.current == nil:
		return managerv1alpha1.CertificateDistributing
	case !m.promotedAt.IsZero():
		return managerv1alpha1.CertificatePromoting
	case m.trustsRetired(trusted):
		return managerv1alpha1.CertificateRetiring
	default:
		return managerv1alpha1.CertificateStable
	}
}

// trustsRetired is about registrations that can be written.
func (m *decider) trustsRetired(trusted []*x509.Certificate) bool {
	needed := Registration{CABundle: encode(trusted...)}
	writable := Facts{Registrations: slices.DeleteFunc(slices.Clone(m.Registrations), func(r Registration) bool { return r.notWritable() != "" })}
	return slices.ContainsFunc(writable.registeredCAs(), func(ca *x509.Certificate) bool { return !needed.trusts(ca) })
}

func (m *decider) changeTimes(trusted []*x509.Certificate) []time.Time {
	var all []time.Time
	if c := m.current; c != nil {
		all = append(all, m.policy.renewAt(c.chain), c.chain[0].NotBefore, c.ca().NotBefore, expiry(c.chain))
		if m.renewalDue() {
			all = append(all, m.urgentAt())
		}
	}
	if m.lastIssued != nil {
		all = append(all, m.lastIssued.chain[0].NotBefore, m.lastIssued.ca().NotBefore)
	}
	if m.next != nil {
		all = append(all, m.deadlines()...)
	}
	if m.next != nil && !m.nextTrustedAt.IsZero() {
		all = append(all, m.nextTrustedAt.Add(m.policy.Settle))
		if m.current != nil {
			all = append(all, m.unverifiableAt())
		}
	}
	all = append(all, m.restartAt, m.previousExpiresAt) // the zero time is before now
	return append(all, lists.Map(trusted, func(ca *x509.Certificate) time.Time { return ca.NotAfter })...)
}

func earliest(now time.Time, instants ...time.Time) time.Time {
	var first time.Time
	for _, t := range instants {
		if t.After(now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// reportFailing reports the registrations that cannot be written and do not trust what pods are given.
func (m *decider) reportFailing() {
	var why []string
	for _, r := range m.Registrations {
		if m.current == nil || r.notWritable() == "" || r.trusts(m.current.ca()) {
			continue
		}
		m.d.LostRegistrations = append(m.d.LostRegistrations, r.Name)
		why = append(why, fmt.Sprintf("calls of %s fail, because it does not trust the certificate that pods are given: %s", r.Name, r.notWritable()))
	}
	if len(why) > 0 {
		if m.d.Message != "" {
			why = append(why, m.d.Message)
		}
		m.d.Message = strings.Join(why, "; ")
	}
}
