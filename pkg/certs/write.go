package certs

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// write makes the change of a copy of the Secret the decision's.
func (m *machine) write(change func(*corev1.Secret)) {
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

// storeNext puts a generation beside the current one.
func (m *machine) storeNext(s *corev1.Secret, next *held) {
	s.Data[wellknown.KeyNextCertificate] = next.Certificate
	s.Data[wellknown.KeyNextKey] = next.Key
	s.Data[wellknown.KeyNextCA] = encode(next.ca())
	s.Annotations[wellknown.AnnotationNextGeneration] = strconv.FormatInt(m.numbered(next), 10)
	s.Annotations[wellknown.AnnotationNextProvider] = string(m.Issuer)
	note(s, wellknown.AnnotationNextStoredAt, m.now)
	m.noteOrder(s)
	m.noteUnusableCA(s)
	delete(s.Annotations, wellknown.AnnotationNextTrustedAt)
}

// storeCurrent gives a generation to pods, and forgets all others.
func (m *machine) storeCurrent(s *corev1.Secret, g *held, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	s.Data[corev1.TLSCertKey] = g.Certificate
	s.Data[corev1.TLSPrivateKeyKey] = g.Key
	s.Data[wellknown.KeyCA] = ca
	s.Data[wellknown.KeyOLMCA] = ca
	s.Annotations[wellknown.AnnotationCAHash] = hexSHA256(ca)
	s.Annotations[wellknown.AnnotationFingerprint] = g.leaf()
	s.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(m.numbered(g), 10)
	s.Annotations[wellknown.AnnotationCertificateProvider] = string(issuer)
	s.Annotations[wellknown.AnnotationUpdatedAt] = m.now.UTC().Format(time.RFC3339)
	m.noteOrder(s)
	m.forgetNext(s)
	m.retire(s)
}

func (m *machine) forgetNext(s *corev1.Secret) {
	for _, key := range []string{wellknown.KeyNextCertificate, wellknown.KeyNextKey, wellknown.KeyNextCA} {
		delete(s.Data, key)
	}
	for _, a := range []string{wellknown.AnnotationNextGeneration, wellknown.AnnotationNextProvider, wellknown.AnnotationNextStoredAt, wellknown.AnnotationNextTrustedAt} {
		delete(s.Annotations, a)
	}
}

func note(s *corev1.Secret, annotation string, at time.Time) {
	s.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
