package certs

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
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
func (m *machine) compromised() bool {
	return m.orderedByName() && strings.HasPrefix(m.Order, wellknown.RotateCompromised)
}

// ordered tells whether somebody orders a rotation, in either way.
func (m *machine) ordered() bool { return m.orderedByName() || m.dueOrdered() }

// orderedByName takes a Secret without any notes for one that has lost them: an order that
// was followed must not be followed again.
func (m *machine) orderedByName() bool { return m.noted && m.Order != "" && m.Order != m.order }

// dueOrdered is for what the manager issues: other issuers know of no such order.
func (m *machine) dueOrdered() bool {
	return m.noted && m.Due != "" && m.Due != m.dueDone && m.mints()
}

// reissues reports whether another issuer is to be asked for what is ordered. It was asked
// already when what it issued last is gone, or is not what pods are given. A compromised Secret
// holds the key of the next generation, too.
func (m *machine) reissues() bool {
	if m.mints() || !m.orderedByName() {
		return false
	}
	return m.issued.sameAs(m.current) || m.compromised() && m.issued.sameAs(m.next)
}

// awaitsIssuer tells whether all is done about a compromised CA but what another issuer
// has to do.
func (m *machine) awaitsIssuer() bool {
	return !m.mints() && m.current != nil && len(m.previous) == 0 && m.next == nil && m.fresh() == nil
}

// mints tells whether it is the manager that issues.
func (m *machine) mints() bool { return m.Issuer == managerv1alpha1.ProviderManager }

// noteOrder notes what is followed, and that nothing else is.
func (m *machine) noteOrder(s *corev1.Secret) {
	if m.Order != "" {
		s.Annotations[wellknown.AnnotationLastRotationRequest] = m.Order
	}
	delete(s.Annotations, wellknown.AnnotationLastRotateAt)
	if m.Due != "" {
		s.Annotations[wellknown.AnnotationLastRotateAt] = m.Due
	}
}

// restarts tells whether pods are to be replaced for the current generation, whatever
// they serve: OLM v0 does with each rotation, and tools wait for it that order one of it, or that
// put an expired CA into the Secret.
func (m *machine) restarts() bool {
	return (m.dueDone != "" || m.restartedBy != "") && m.Running && m.RestartedFor != strconv.FormatInt(m.current.Number, 10)
}
