package certs

import (
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// fresh is what the issuer issued, when it is of use and not what the Secret holds
// already.
func (m *rotation) fresh() *held {
	if m.issued == nil || m.issued.unfit(m.Names, m.now) != "" || m.issued.sameAs(m.current) || m.issued.sameAs(m.next) {
		return nil
	}
	return m.issued
}

// early says that what the issuer issued has not begun by this clock, and so is not taken up
// yet; empty when it has, and when it would not be taken up then either.
func (m *rotation) early() string {
	if m.issued == nil || m.issued.sameAs(m.current) || m.issued.sameAs(m.next) {
		return ""
	}
	last := m.issued.chain[0]
	if ca := m.issued.ca(); ca.NotBefore.After(last.NotBefore) {
		last = ca
	}
	if !m.now.Before(last.NotBefore) || m.issued.unfit(m.Names, last.NotBefore) != "" {
		return ""
	}
	return fmt.Sprintf("what %s issued %s; it is taken up then", m.Issuer, lapse(last, m.now))
}

// issuedBy is what the issuer issued, when it is whole and of a piece.
func issuedBy(f Facts, now time.Time) *held {
	if f.Issued == nil {
		return nil
	}
	issued, err := assemble(*f.Issued, now)
	if err != nil {
		return nil
	}
	return issued
}

// misattributed tells whether the current generation is the one that the issuer issued, and
// the Secret says that somebody else did.
func (m *rotation) misattributed() bool {
	return m.issuer != m.Issuer && m.issued.sameAs(m.current)
}

// reissued tells whether what is next was overtaken before any pod could serve it, or is of
// no use to them.
func (m *rotation) reissued() bool {
	overtaken := m.fresh() != nil
	if m.mints() {
		overtaken = m.nextIssuer != m.Issuer
	}
	return overtaken || m.next.unfit(m.Names, m.now) != ""
}

// following is the number of the generation after all that are known. Numbers go on
// from whatever is registered, adopted or not: an earlier generation is never written
// over a later one, and pods are restarted once for each.
func (m *rotation) following() int64 {
	return certgeneration.After(certgeneration.Latest(m.number, m.registeredNumber(), certgeneration.Parse(m.RestartedFor)))
}

// numbered is a generation's number, or the one that it gets: another, where registrations
// were written for a later one already, or where pods were restarted for it before somebody put
// back what the Secret was: they may have started with that, and could not be restarted again.
func (m *rotation) numbered(g *held) int64 {
	if certgeneration.AtLeast(certgeneration.Parse(m.RestartedFor), g.Number) || certgeneration.Later(m.writtenNumber(), g.Number) {
		return m.following()
	}
	return g.Number
}

// awaitsIssuer tells whether all is done about a compromised CA but what another issuer
// has to do.
func (m *rotation) awaitsIssuer() bool {
	return !m.mints() && m.current != nil && len(m.previous) == 0 && m.next == nil && m.fresh() == nil
}

// mints tells whether it is the manager that issues.
func (m *rotation) mints() bool { return m.Issuer == managerv1alpha1.ProviderManager }

// rejected is what is wrong with what another issuer issued last; nil when pods are given it, can
// be given it, or could be as soon as it is valid.
func (m *rotation) rejected() *Rejection {
	if m.mints() || m.Issued == nil {
		return nil
	}
	return Judge(*m.Issued, m.Names, m.now)
}
