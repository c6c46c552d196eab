package certs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// immutable reports whether the API server refuses every change of a Secret's data.
func immutable(secret *corev1.Secret) bool {
	return secret != nil && secret.Immutable != nil && *secret.Immutable
}

// frozen reports whether a client other than the manager made the Secret immutable. It is created
// again at once: a kubelet that has read an immutable Secret reads it no more while a pod of its
// node mounts it. Once for each certificate is enough: what becomes immutable again is so by an
// admission policy, and is created again for each change only.
func (m *rotation) frozen() bool {
	return immutable(m.Secret) && m.Secret.Annotations[wellknown.AnnotationRecreatedFor] != m.recreatedFor()
}

// recreate has an immutable Secret that is to be written deleted first, and created with the
// same content in the same pass. The key in it is lost if the second write fails: then the Secret
// is as good as one that somebody deleted, which is why this needs live facts.
func (m *decider) recreate() {
	if m.d.Write == nil || !immutable(m.Secret) {
		return
	}
	write := m.d.Write
	m.d.Write = nil
	switch {
	case m.Secret.DeletionTimestamp != nil:
		m.d.Message = fmt.Sprintf("Secret %s/%s is immutable, and finalizers keep it from being deleted: %s. Remove them, so that it can be created again",
			m.Secret.Namespace, m.Secret.Name, strings.Join(m.Secret.Finalizers, ", "))
		m.d.Again = m.now.Add(foreignPause)
	case m.live():
		write.Immutable = nil
		write.ObjectMeta = metav1.ObjectMeta{
			Namespace: write.Namespace, Name: write.Name, Labels: write.Labels, Annotations: write.Annotations, OwnerReferences: write.OwnerReferences,
		}
		m.d.Write, m.d.Remove = write, m.Secret
	}
}
