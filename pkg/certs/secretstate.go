package certs

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// restoredFrom returns why the Secret must predate a finished rotation, with a CA that is not published; empty if not.
func (s *state) restoredFrom(f Facts, current *keyPair) string {
	if written := f.writtenNumber(); certgeneration.Later(written, certgeneration.Latest(s.number, NumberOf(current.ca()))) {
		return fmt.Sprintf("predates certificate generation %d", written)
	}
	for _, r := range f.Registrations {
		if s.next != nil && r.Generation != 0 && certgeneration.AtLeast(r.Generation, s.next.Number) && r.trusts(s.next.ca()) && !r.trusts(current.ca()) {
			return fmt.Sprintf("predates the moment from which %s trusts the next one alone", r.Name)
		}
	}
	return ""
}

type state struct {
	current      *keyPair            // what pods are given; nil if the manager wrote no usable one
	problem      string              // why there is none
	emptied      bool                // tls.crt is empty, or there is no Secret
	annotated    bool                // the Secret has annotations of the manager
	unidentified bool                // the annotation that identifies current is missing
	next         *keyPair            // what pods will be given
	previous     []*x509.Certificate // CAs of what pods may still serve
	number       int64               // of the newest generation that the Secret contains

	unusableCA string // hash of a CA in the Secret that has expired and is not the CA of current
	restartCA  string // the last such CA that a rotation was started for, until pods serve it

	propagation                   *managerv1alpha1.CertificatePropagation // of current; nil if it is not recorded
	currentProvider, nextProvider managerv1alpha1.CertificateProvider
	lastRequest, lastRotateAt     string    // the requests that were carried out last
	nextStoredAt                  time.Time // when next was stored
	nextTrustedAt                 time.Time // when all registrations were observed to trust next
	trustedBy                     string    // fingerprint of those registrations
	promotedAt                    time.Time // when current replaced another; zero when that is complete
	updatedAt                     time.Time // when current was given to pods; zero if unknown
	previousExpiresAt             time.Time // until when pods may serve another one; zero for not at all
}

// readSecret reads a Secret that is the manager's. Facts.Secret is nil if it does not exist.
func readSecret(f Facts, now time.Time) state {
	secret := f.Secret
	if secret == nil {
		return state{emptied: true, problem: "the Secret with the serving certificate does not exist"}
	}
	a := secret.Annotations
	s := state{
		annotated:         cmp.Or(a[wellknown.AnnotationFingerprint], a[wellknown.AnnotationGeneration], a[wellknown.AnnotationNextGeneration]) != "",
		previous:          parse(secret.Data[wellknown.KeyPreviousCAs]),
		number:            certgeneration.Latest(numberIn(secret, wellknown.AnnotationNextGeneration), numberIn(secret, wellknown.AnnotationGeneration)),
		currentProvider:   issuerIn(secret, wellknown.AnnotationCertificateProvider),
		nextProvider:      issuerIn(secret, wellknown.AnnotationNextProvider),
		lastRequest:       a[wellknown.AnnotationLastRotationRequest],
		lastRotateAt:      a[wellknown.AnnotationLastRotateAt],
		nextStoredAt:      instantIn(secret, wellknown.AnnotationNextStoredAt),
		promotedAt:        instantIn(secret, wellknown.AnnotationPromotedAt),
		updatedAt:         instantIn(secret, wellknown.AnnotationUpdatedAt),
		previousExpiresAt: instantIn(secret, wellknown.AnnotationPreviousExpiresAt),
		restartCA:         a[wellknown.AnnotationUnusableCA],
		propagation:       propagationIn(secret),
	}
	stamp, versions, _ := strings.Cut(a[wellknown.AnnotationNextTrustedAt], " ")
	s.nextTrustedAt, s.trustedBy = parseInstant(stamp), versions
	s.readNext(secret, now)
	s.readCurrent(f, now)
	s.readUnusableCA(secret, now)
	s.number = certgeneration.Latest(s.number, latestNumber(s.authorities()))
	return s
}

// Pods may serve something else than a pair that another client wrote, so this does not count.
func (s *state) readCurrent(f Facts, now time.Time) {
	secret := f.Secret
	s.emptied = len(secret.Data[corev1.TLSCertKey]) == 0
	current, err := assemble(Generation{
		Number:      numberIn(secret, wellknown.AnnotationGeneration),
		CA:          secret.Data[caKey(secret)],
		Certificate: secret.Data[corev1.TLSCertKey],
		Key:         secret.Data[corev1.TLSPrivateKeyKey],
	}, now)
	recorded := secret.Annotations[wellknown.AnnotationFingerprint]
	switch {
	case err != nil:
		s.problem = err.Error()
	case recorded != "" && recorded != current.leaf():
		s.problem = "the certificate is not the one that the manager put there"
	case recorded == "" && f.firstWithoutTrust(current.ca()) != "":
		s.problem = "the certificate is not one of the manager's, and " + f.firstWithoutTrust(current.ca()) + " does not trust it"
	case recorded != "" && s.restoredFrom(f, current) != "":
		s.problem = "the certificate " + s.restoredFrom(f, current)
	default:
		s.current, s.unidentified = current, recorded == ""
		return
	}
	s.problem = fmt.Sprintf("Secret %s/%s: %s", secret.Namespace, secret.Name, s.problem)
}

func (s *state) readNext(secret *corev1.Secret, now time.Time) {
	s.next, _ = assemble(Generation{ // nil if it is not usable
		Number:      numberIn(secret, wellknown.AnnotationNextGeneration),
		CA:          secret.Data[wellknown.KeyNextCA],
		Certificate: secret.Data[wellknown.KeyNextCertificate],
		Key:         secret.Data[wellknown.KeyNextKey],
	}, now)
}

func (s *state) authorities() []*x509.Certificate {
	return append(slices.Clone(s.previous), s.currentAndNext()...)
}

func (s *state) currentAndNext() []*x509.Certificate {
	var all []*x509.Certificate
	for _, h := range []*keyPair{s.current, s.next} {
		if h != nil {
			all = append(all, h.ca())
		}
	}
	return all
}

func issuerIn(secret *corev1.Secret, annotation string) managerv1alpha1.CertificateProvider {
	if issuer := secret.Annotations[annotation]; issuer != "" {
		return managerv1alpha1.CertificateProvider(issuer)
	}
	return managerv1alpha1.ProviderManager
}

func numberIn(secret *corev1.Secret, annotation string) int64 {
	return certgeneration.Parse(secret.Annotations[annotation])
}

func instantIn(secret *corev1.Secret, annotation string) time.Time {
	return parseInstant(secret.Annotations[annotation])
}

// parseInstant returns zero for a text that is no time, because a client edited the annotation.
func parseInstant(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}

// readUnusableCA finds a CA that another client wrote and that verifies nothing. The CA of the current
// certificate expires with it and is replaced anyway.
func (s *state) readUnusableCA(secret *corev1.Secret, now time.Time) {
	for _, key := range []string{wellknown.KeyCA, wellknown.KeyOLMCA} {
		text := secret.Data[key]
		if len(text) == 0 {
			continue
		}
		of := func(ca *x509.Certificate) bool {
			return now.Before(ca.NotAfter) || s.current != nil && ca.Equal(s.current.ca())
		}
		if !slices.ContainsFunc(parse(text), of) {
			s.unusableCA = hexSHA256(text)
		}
	}
}

func propagationIn(secret *corev1.Secret) *managerv1alpha1.CertificatePropagation {
	var recorded *managerv1alpha1.CertificatePropagation
	if json.Unmarshal([]byte(secret.Annotations[wellknown.AnnotationPropagation]), &recorded) != nil {
		return nil
	}
	return validPropagation(recorded)
}
