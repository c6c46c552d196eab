package certs

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// write makes the change of a copy of the Secret the decision's.
func (m *machine) write(change func(*corev1.Secret)) {
	secret := &corev1.Secret{ObjectMeta: *m.Blank.DeepCopy()}
	if m.Secret != nil {
		secret = m.Secret.DeepCopy()
	}
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = with(secret.Labels, map[string]string{vocabulary.LabelManaged: "true"})
	secret.Annotations = with(secret.Annotations, map[string]string{})
	secret.Data = with(secret.Data, map[string][]byte{})
	change(secret)
	m.d.Write = secret
}

// storeNext puts a generation beside the current one.
func (m *machine) storeNext(s *corev1.Secret, next *held) {
	s.Data[vocabulary.KeyNextCertificate] = next.Certificate
	s.Data[vocabulary.KeyNextKey] = next.Key
	s.Data[vocabulary.KeyNextCA] = encode(next.ca())
	s.Annotations[vocabulary.AnnotationNextGeneration] = strconv.FormatInt(m.numbered(next), 10)
	s.Annotations[vocabulary.AnnotationNextIssuer] = string(m.Issuer)
	note(s, vocabulary.AnnotationBegun, m.now)
	m.noteOrder(s)
	m.noteUnusableCA(s)
	delete(s.Annotations, vocabulary.AnnotationTrusted)
}

// storeCurrent gives a generation to pods, and forgets all others.
func (m *machine) storeCurrent(s *corev1.Secret, g *held, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	s.Data[corev1.TLSCertKey] = g.Certificate
	s.Data[corev1.TLSPrivateKeyKey] = g.Key
	s.Data[vocabulary.KeyCA] = ca
	s.Data[vocabulary.KeyOLMCA] = ca
	s.Annotations[vocabulary.AnnotationCAHash] = hexSHA256(ca)
	s.Annotations[vocabulary.AnnotationLeaf] = g.leaf()
	s.Annotations[vocabulary.AnnotationGeneration] = strconv.FormatInt(m.numbered(g), 10)
	s.Annotations[vocabulary.AnnotationIssuer] = string(issuer)
	s.Annotations[vocabulary.AnnotationUpdated] = m.now.UTC().Format(time.RFC3339)
	m.noteOrder(s)
	m.forgetNext(s)
	m.retire(s)
}

func (m *machine) forgetNext(s *corev1.Secret) {
	for _, key := range []string{vocabulary.KeyNextCertificate, vocabulary.KeyNextKey, vocabulary.KeyNextCA} {
		delete(s.Data, key)
	}
	for _, a := range []string{vocabulary.AnnotationNextGeneration, vocabulary.AnnotationNextIssuer, vocabulary.AnnotationBegun, vocabulary.AnnotationTrusted} {
		delete(s.Annotations, a)
	}
}

func note(s *corev1.Secret, annotation string, at time.Time) {
	s.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
