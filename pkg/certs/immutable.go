package certs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func immutable(secret *corev1.Secret) bool {
	return secret != nil && secret.Immutable != nil && *secret.Immutable
}

// A kubelet does not read an immutable Secret again while a pod of its node mounts it. Once for each certificate
// is enough, because an admission policy may make every Secret immutable.
func (m *rotation) needsRecreation() bool {
	return immutable(m.Secret) && m.Secret.Annotations[wellknown.AnnotationRecreatedFor] != m.recreatedFor()
}

// recreate deletes and creates the Secret in one reconciliation. If the second write fails, the key is lost, so
// this needs live facts.
func (m *decider) recreate() {
	if m.d.Write == nil || !immutable(m.Secret) {
		return
	}
	write := m.d.Write
	m.d.Write = nil
	switch {
	case m.Secret.DeletionTimestamp != nil:
		m.d.Message = fmt.Sprintf("Secret %s/%s is immutable%s", m.Secret.Namespace, m.Secret.Name, keptByFinalizers(m.Secret))
		m.d.PollAt = m.now.Add(otherClientInterval)
	case m.requireLive():
		write.Immutable = nil
		write.ObjectMeta = metav1.ObjectMeta{
			Namespace: write.Namespace, Name: write.Name, Labels: write.Labels, Annotations: write.Annotations, OwnerReferences: write.OwnerReferences,
		}
		m.d.Write, m.d.Remove = write, m.Secret
	}
}
