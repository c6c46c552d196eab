package certs

import (
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// newlyIssued returns what is usable and not in the Secret yet.
func (m *rotation) newlyIssued() *keyPair {
	if m.lastIssued == nil || m.lastIssued.invalid(m.Names, m.now) != "" || m.lastIssued.sameAs(m.current) || m.lastIssued.sameAs(m.next) {
		return nil
	}
	return m.lastIssued
}

// notYetValid explains that a certificate is not valid yet by this clock; empty if it is, or is unusable anyway.
func (m *rotation) notYetValid() string {
	if m.lastIssued == nil || m.lastIssued.sameAs(m.current) || m.lastIssued.sameAs(m.next) {
		return ""
	}
	last := m.lastIssued.chain[0]
	if ca := m.lastIssued.ca(); ca.NotBefore.After(last.NotBefore) {
		last = ca
	}
	if !m.now.Before(last.NotBefore) || m.lastIssued.invalid(m.Names, last.NotBefore) != "" {
		return ""
	}
	return fmt.Sprintf("the certificate of %s %s; the manager uses it from then on", m.Provider, outsideValidity(last, m.now))
}

func issuedKeyPair(f Facts, now time.Time) *keyPair {
	if f.Issued == nil {
		return nil
	}
	issued, _ := assemble(*f.Issued, now) // nil if it is not usable
	return issued
}

// The issuer issued the current generation, but the Secret records another provider.
func (m *rotation) wrongProvider() bool {
	return m.currentProvider != m.Provider && m.lastIssued.sameAs(m.current)
}

// nextReplaced reports whether the issuer replaced the next generation, or whether that is unusable.
func (m *rotation) nextReplaced() bool {
	overtaken := m.newlyIssued() != nil
	if m.managerIssues() {
		overtaken = m.nextProvider != m.Provider
	}
	return overtaken || m.next.invalid(m.Names, m.now) != ""
}

// nextNumber also exceeds that of registrations and of the last restart, which happens once for each number.
func (m *rotation) nextNumber() int64 {
	return certgeneration.After(certgeneration.Latest(m.number, m.registeredNumber(), certgeneration.Parse(m.RestartedFor)))
}

// numberFor renumbers after a client restored an earlier Secret: pods are restarted once for each number.
func (m *rotation) numberFor(g *keyPair) int64 {
	if certgeneration.AtLeast(certgeneration.Parse(m.RestartedFor), g.Number) || certgeneration.Later(m.writtenNumber(), g.Number) {
		return m.nextNumber()
	}
	return g.Number
}

func (m *rotation) awaitsIssuer() bool {
	return !m.managerIssues() && m.current != nil && len(m.previous) == 0 && m.next == nil && m.newlyIssued() == nil
}

func (m *rotation) managerIssues() bool { return m.Provider == managerv1alpha1.ProviderManager }

// rejected is nil if pods can be given what was issued last, now or when it becomes valid.
func (m *rotation) rejected() *Rejection {
	if m.managerIssues() || m.Issued == nil {
		return nil
	}
	return validate(*m.Issued, m.Names, m.now)
}
