package certs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// RotateAtRequest reads status.certsRotateAt as OLM v0 does: a past time of another client is a request. The
// manager's own value is none: it is in the past when the manager was down. Empty for no request.
func RotateAtRequest(rotateAt *metav1.Time, writers []metav1.ManagedFieldsEntry, now time.Time) string {
	if rotateAt == nil || rotateAt.After(now) || !RotateAtByOther(writers) {
		return ""
	}
	return rotateAt.UTC().Format(time.RFC3339)
}

// RotateAtByOther reports whether another client wrote status.certsRotateAt.
func RotateAtByOther(writers []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(writers, func(w metav1.ManagedFieldsEntry) bool {
		return w.Manager != wellknown.FieldManager && w.FieldsV1 != nil && strings.Contains(w.FieldsV1.GetRawString(), `"f:certsRotateAt"`)
	})
}

func (m *rotation) compromised() bool {
	return m.annotationRequest() && strings.HasPrefix(m.RotationRequest, wellknown.RotateCompromised)
}

func (m *rotation) rotationRequested() bool { return m.annotationRequest() || m.rotateAtRequest() }

// A Secret without annotations has lost them: a request must not be carried out again.
func (m *rotation) annotationRequest() bool {
	return m.annotated && m.RotationRequest != "" && m.RotationRequest != m.lastRequest
}

// Other issuers do not know such requests.
func (m *rotation) rotateAtRequest() bool {
	return m.annotated && m.RotateAt != "" && m.RotateAt != m.lastRotateAt && m.managerIssues()
}

// OLM v0 restarts pods with each rotation. Tools that request one, or write an expired CA, wait for the restart.
func (m *rotation) restartRequested() bool {
	return (m.lastRotateAt != "" || m.restartCA != "") && m.Running && m.RestartedFor != strconv.FormatInt(m.current.Number, 10)
}

// needsReissue is false if the issuer was asked already: what it issued last does not exist or is not what
// pods are given. A compromised Secret contains the key of the next generation, too.
func (m *rotation) needsReissue() bool {
	if m.managerIssues() || !m.annotationRequest() {
		return false
	}
	return m.lastIssued.sameAs(m.current) || m.compromised() && m.lastIssued.sameAs(m.next)
}
