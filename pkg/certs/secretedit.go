package certs

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type editor struct {
	*rotation
	secret *corev1.Secret
}

// renumber gives the next generation a new number. Registrations are written for it.
func (e editor) renumber() {
	e.storeNext(e.next)
	if e.current == nil {
		e.emptyPair()
	}
}

// promote keeps the trust in what pods serve until they reload.
func (e editor) promote() {
	previous, ends, annotations := slices.Clone(e.previous), e.previousExpiresAt, maps.Clone(e.secret.Annotations)
	if e.current != nil {
		previous = append([]*x509.Certificate{e.current.ca()}, previous...)
		ends = latest(ends, e.servedUntil())
	}
	previous = slices.DeleteFunc(previous, e.next.ca().Equal)
	e.storeCurrent(e.next, e.nextProvider)
	for _, request := range []string{wellknown.AnnotationLastRotationRequest, wellknown.AnnotationLastRotateAt} {
		if annotations[request] != "" {
			e.secret.Annotations[request] = annotations[request]
		} else if e.annotated {
			delete(e.secret.Annotations, request) // a later request is for another rotation
		}
	}
	if because := annotations[wellknown.AnnotationUnusableCA]; because != "" {
		e.secret.Annotations[wellknown.AnnotationUnusableCA] = because
	}
	e.recordPropagation()
	e.keepPrevious(previous, ends)
}

func (e editor) recordPropagation() {
	if e.Propagation == nil {
		return
	}
	if text, err := json.Marshal(e.Propagation.record()); err == nil {
		e.secret.Annotations[wellknown.AnnotationPropagation] = string(text)
	}
}

func (e editor) keepPrevious(previous []*x509.Certificate, ends time.Time) {
	if len(previous) > 0 {
		e.secret.Data[wellknown.KeyPreviousCAs] = encode(newestFirst(trustworthy(previous, e.now))...)
	}
	e.recordTime(wellknown.AnnotationPromotedAt, e.now)
	e.recordTime(wellknown.AnnotationPreviousExpiresAt, ends)
}

func with[V any](m, more map[string]V) map[string]V {
	if m == nil {
		return more
	}
	maps.Copy(m, more)
	return m
}

func (e editor) recordRecreation() {
	e.secret.Annotations[wellknown.AnnotationRecreatedFor] = e.recreatedFor()
}

func (m *rotation) recreatedFor() string {
	return cmp.Or(m.Secret.Annotations[wellknown.AnnotationFingerprint], "none")
}

func (e editor) resetTimes() {
	for annotation, at := range map[string]time.Time{wellknown.AnnotationNextStoredAt: e.nextStoredAt, wellknown.AnnotationPromotedAt: e.promotedAt} {
		if at.After(e.now) {
			e.recordTime(annotation, e.now)
		}
	}
	if e.nextTrustedAt.After(e.now) {
		delete(e.secret.Annotations, wellknown.AnnotationNextTrustedAt) // live facts record it again
	}
}

func (e editor) recordRequests() {
	if e.RotationRequest != "" {
		e.secret.Annotations[wellknown.AnnotationLastRotationRequest] = e.RotationRequest
	}
	delete(e.secret.Annotations, wellknown.AnnotationLastRotateAt)
	if e.RotateAt != "" {
		e.secret.Annotations[wellknown.AnnotationLastRotateAt] = e.RotateAt
	}
}

func (e editor) endRotation() {
	delete(e.secret.Data, wellknown.KeyPreviousCAs)
	delete(e.secret.Annotations, wellknown.AnnotationPromotedAt)
	delete(e.secret.Annotations, wellknown.AnnotationPreviousExpiresAt)
	delete(e.secret.Annotations, wellknown.AnnotationUnusableCA)
}

// emptyPair records the CAs of what pods may serve. These include the registered CAs, so this needs live facts.
// The API server requires the keys of the pair, so they stay with empty values.
func (e editor) emptyPair() {
	e.recordUnusableCA()
	e.secret.Data[corev1.TLSCertKey], e.secret.Data[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	delete(e.secret.Data, wellknown.KeyCA)
	delete(e.secret.Data, wellknown.KeyOLMCA)
	delete(e.secret.Annotations, wellknown.AnnotationFingerprint)
	served := trustworthy(newestFirst(append(e.registeredCAs(), e.previous...)), e.now)
	e.secret.Data[wellknown.KeyPreviousCAs] = encode(served...)
	e.recordTime(wellknown.AnnotationPreviousExpiresAt, e.lastExpiry(served))
}

// endPreviousTrust forgets the previous CAs, and the phase Promoting continues.
func (e editor) endPreviousTrust() {
	delete(e.secret.Data, wellknown.KeyPreviousCAs)
	delete(e.secret.Annotations, wellknown.AnnotationPreviousExpiresAt)
}

// Pods mount ca.crt: without the key new pods do not start, and running pods get no updates.
func (e editor) complete() {
	if e.unidentified {
		e.reconstruct()
	}
	e.secret.Data[wellknown.KeyCA] = e.current.CA
	if !e.managerIssues() && e.unusableCA != "" { // no other certificate can be requested
		e.secret.Data[wellknown.KeyCA], e.secret.Data[wellknown.KeyOLMCA] = encode(e.current.ca()), encode(e.current.ca())
	}
	e.secret.Annotations[wellknown.AnnotationFingerprint] = e.current.leaf()
	if e.wrongProvider() {
		e.secret.Annotations[wellknown.AnnotationCertificateProvider] = string(e.Provider)
	}
}

// reconstruct adds lost annotations. Requests count as carried out. All registered CAs stay trusted until pods
// serve the current certificate, so this needs live facts.
func (e editor) reconstruct() {
	others := slices.DeleteFunc(append(e.registeredCAs(), e.previous...), e.current.ca().Equal)
	byOLM := len(e.secret.Data[wellknown.KeyCA]) == 0 // OLM v0 restarts pods with each rotation
	if !e.annotated {
		e.recordRequests()
	}
	if byOLM && len(others) == 0 {
		return
	}
	if !e.annotated {
		e.secret.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(e.nextNumber(), 10)
	}
	if !e.Running && len(others) == 0 {
		return
	}
	e.keepPrevious(others, latest(e.lastExpiry(others), e.servedUntil()))
}

// Pods are restarted for a generation that replaces an unusable CA. Other rotations restart nothing.
func (e editor) recordUnusableCA() {
	switch {
	case e.unusableCA != "":
		e.secret.Annotations[wellknown.AnnotationUnusableCA] = e.unusableCA
	case e.current != nil:
		delete(e.secret.Annotations, wellknown.AnnotationUnusableCA)
	}
}

func (e editor) storeNext(next *keyPair) {
	e.secret.Data[wellknown.KeyNextCertificate] = next.Certificate
	e.secret.Data[wellknown.KeyNextKey] = next.Key
	e.secret.Data[wellknown.KeyNextCA] = encode(next.ca())
	e.secret.Annotations[wellknown.AnnotationNextGeneration] = strconv.FormatInt(e.numberFor(next), 10)
	e.secret.Annotations[wellknown.AnnotationNextProvider] = string(e.Provider)
	e.recordTime(wellknown.AnnotationNextStoredAt, e.now)
	e.recordRequests()
	e.recordUnusableCA()
	delete(e.secret.Annotations, wellknown.AnnotationNextTrustedAt)
}

// storeCurrent gives a generation to pods, and removes all others.
func (e editor) storeCurrent(g *keyPair, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	e.secret.Data[corev1.TLSCertKey] = g.Certificate
	e.secret.Data[corev1.TLSPrivateKeyKey] = g.Key
	e.secret.Data[wellknown.KeyCA] = ca
	e.secret.Data[wellknown.KeyOLMCA] = ca
	e.secret.Annotations[wellknown.AnnotationCAHash] = hexSHA256(ca)
	e.secret.Annotations[wellknown.AnnotationFingerprint] = g.leaf()
	e.secret.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(e.numberFor(g), 10)
	e.secret.Annotations[wellknown.AnnotationCertificateProvider] = string(issuer)
	e.secret.Annotations[wellknown.AnnotationUpdatedAt] = e.now.UTC().Format(time.RFC3339)
	delete(e.secret.Annotations, wellknown.AnnotationPropagation)
	e.recordRequests()
	e.forgetNext()
	e.endRotation()
}

func (e editor) forgetNext() {
	for _, key := range []string{wellknown.KeyNextCertificate, wellknown.KeyNextKey, wellknown.KeyNextCA} {
		delete(e.secret.Data, key)
	}
	for _, a := range []string{wellknown.AnnotationNextGeneration, wellknown.AnnotationNextProvider, wellknown.AnnotationNextStoredAt, wellknown.AnnotationNextTrustedAt} {
		delete(e.secret.Annotations, a)
	}
}

func (e editor) recordTime(annotation string, at time.Time) {
	e.secret.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
