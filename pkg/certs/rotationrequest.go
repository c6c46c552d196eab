package certs

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// OrderedDue reads status.certsRotateAt as OLM v0 does: there, whoever writes an instant
// that is over orders a rotation. What this manager wrote orders nothing: it is over when
// the manager was down. The order is a text; empty for none.
func OrderedDue(rotateAt *metav1.Time, writers []metav1.ManagedFieldsEntry, now time.Time) string {
	if rotateAt == nil || rotateAt.After(now) || !WritesRotateAt(writers) {
		return ""
	}
	return rotateAt.UTC().Format(time.RFC3339)
}

// WritesRotateAt tells whether somebody else than this manager wrote status.certsRotateAt.
func WritesRotateAt(writers []metav1.ManagedFieldsEntry) bool {
	for _, w := range writers {
		if w.Manager != wellknown.FieldManager && w.FieldsV1 != nil && strings.Contains(w.FieldsV1.GetRawString(), `"f:certsRotateAt"`) {
			return true
		}
	}
	return false
}

// compromised tells whether somebody orders that no earlier CA be trusted any more.
func (m *rotation) compromised() bool {
	return m.orderedByName() && strings.HasPrefix(m.Order, wellknown.RotateCompromised)
}

// ordered tells whether somebody orders a rotation, in either way.
func (m *rotation) ordered() bool { return m.orderedByName() || m.dueOrdered() }

// orderedByName takes a Secret without any notes for one that has lost them: an order that
// was followed must not be followed again.
func (m *rotation) orderedByName() bool { return m.noted && m.Order != "" && m.Order != m.order }

// dueOrdered is for what the manager issues: other issuers know of no such order.
func (m *rotation) dueOrdered() bool {
	return m.noted && m.Due != "" && m.Due != m.dueDone && m.mints()
}

// restarts tells whether pods are to be replaced for the current generation, whatever
// they serve: OLM v0 does with each rotation, and tools wait for it that order one of it, or that
// put an expired CA into the Secret.
func (m *rotation) restarts() bool {
	return (m.dueDone != "" || m.restartedBy != "") && m.Running && m.RestartedFor != strconv.FormatInt(m.current.Number, 10)
}

// reissues reports whether another issuer is to be asked for what is ordered. It was asked
// already when what it issued last is gone, or is not what pods are given. A compromised Secret
// holds the key of the next generation, too.
func (m *rotation) reissues() bool {
	if m.mints() || !m.orderedByName() {
		return false
	}
	return m.issued.sameAs(m.current) || m.compromised() && m.issued.sameAs(m.next)
}
