package certs

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Generation is a CA and the leaf that it signed. The CA's key is no part of it.
type Generation struct {
	// Number counts generations from 1.
	Number int64
	// CA and Certificate are PEM certificates; Key is the leaf's private key, PEM.
	CA, Certificate, Key []byte
}

// Trust is the caBundle to publish before the Secret that holds g is written. It
// is also the one that Decide gives once it is, so nothing is published twice.
func (g Generation) Trust(d Decision) []byte {
	return encode(bounded(append(parse(g.CA), parse(d.Trust)...))...)
}

// Fill is a copy of a Secret that holds g instead of what it held when d was
// decided. The CAs that were trusted until now become the previous ones: pods serve
// their leaves until they notice the new one.
func Fill(secret *corev1.Secret, g Generation, d Decision) *corev1.Secret {
	filled := secret.DeepCopy()
	filled.Type = corev1.SecretTypeTLS
	filled.Labels = with(filled.Labels, map[string]string{vocabulary.LabelManaged: "true"})
	filled.Annotations = with(filled.Annotations, map[string]string{
		vocabulary.AnnotationCAHash:     hexSHA256(g.CA),
		vocabulary.AnnotationGeneration: strconv.FormatInt(g.Number, 10),
	})
	filled.Data = with(filled.Data, map[string][]byte{
		corev1.TLSCertKey:       g.Certificate,
		corev1.TLSPrivateKeyKey: g.Key,
		vocabulary.KeyCA:        g.CA,
		vocabulary.KeyOLMCA:     g.CA,
	})
	delete(filled.Data, vocabulary.KeyPreviousCAs)
	if previous := parse(g.Trust(d))[1:]; len(previous) > 0 {
		filled.Data[vocabulary.KeyPreviousCAs] = encode(previous...)
	}
	return filled
}

// with is m and more, where more wins.
func with[V any](m, more map[string]V) map[string]V {
	if m == nil {
		return more
	}
	maps.Copy(m, more)
	return m
}
