package certs

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// live reports whether the facts are live, and requests them otherwise.
func (m *decider) live() bool {
	if !m.Live {
		m.d.Need = NeedLive
	}
	return m.Live
}

// issue returns the generation to store. Without one, the manager mints it; another issuer issues
// it later.
func (m *decider) issue() *keyPair {
	issued := m.newlyIssued()
	if issued == nil && m.managerIssues() {
		m.d.Need, m.d.Mint = NeedIssued, m.policy.request(m.nextNumber(), m.Names, m.now)
	}
	return issued
}

func (m *decider) write(change func(*corev1.Secret)) {
	secret := &corev1.Secret{ObjectMeta: *m.SecretMeta.DeepCopy()}
	if m.Secret != nil {
		secret = m.Secret.DeepCopy()
	}
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = with(secret.Labels, map[string]string{wellknown.LabelManaged: "true"})
	secret.Annotations = with(secret.Annotations, map[string]string{})
	secret.Data = with(secret.Data, map[string][]byte{})
	change(secret)
	m.d.Write = secret
}
