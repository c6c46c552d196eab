package certs

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// live asks for facts that do not come from caches.
func (m *decider) live() bool {
	if !m.Live {
		m.d.Need = NeedLive
	}
	return m.Live
}

// issue is the generation to take in. Without one, the decision asks the manager to
// mint; another issuer comes with it in its own time.
func (m *decider) issue() *held {
	issued := m.fresh()
	if issued == nil && m.mints() {
		m.d.Need, m.d.Mint = NeedIssued, m.policy.request(m.following(), m.Names, m.now)
	}
	return issued
}

// write makes the change of a copy of the Secret the decision's.
func (m *decider) write(change func(*corev1.Secret)) {
	secret := &corev1.Secret{ObjectMeta: *m.Blank.DeepCopy()}
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
