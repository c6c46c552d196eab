package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// outlived says why the current generation is of before a rotation that is over, so that somebody
// put back what the Secret was: its trust is not published any more, and pods serve something
// else. Empty when it is not.
func (s *state) outlived(f Facts, current *held) string {
	if written := f.writtenNumber(); certgeneration.Later(written, certgeneration.Latest(s.number, numberOf(current.ca()))) {
		return fmt.Sprintf("is of before certificate generation %d", written)
	}
	for _, r := range f.Registered {
		if s.next != nil && r.Generation != 0 && certgeneration.AtLeast(r.Generation, s.next.Number) && r.trusts(s.next.ca()) && !r.trusts(current.ca()) {
			return fmt.Sprintf("is of before %s was made to trust the next one alone", r.Name)
		}
	}
	return ""
}

// state is what a Secret turned out to hold: all that is known of a rotation.
type state struct {
	current  *held               // what pods are given; nil when there is none that the manager put there
	problem  string              // why there is none
	hidden   bool                // there is nothing that pods could be given
	noted    bool                // there are annotations of the manager's
	unnoted  bool                // the one that describes current is not among them
	next     *held               // what they will be given
	previous []*x509.Certificate // CAs of what they may serve still
	number   int64               // of the newest generation that the Secret knows

	unusableCA  string // hash of a CA in the Secret that has expired and is not that of current
	restartedBy string // the last of those that a rotation was begun for, until pods follow it

	issuer, nextIssuer managerv1alpha1.CertificateProvider
	order, dueDone     string    // the last that were followed
	begun              time.Time // when next was stored
	trusted            time.Time // when all registrations were seen to trust next
	versions           string    // of those registrations
	promoted           time.Time // when current replaced another; zero once that is over
	updated            time.Time // when current was given to pods; zero for unknown
	previousEnds       time.Time // until when pods may serve another; zero for not at all
}

// read reads a Secret that is the manager's, or absent.
func read(f Facts, now time.Time) state {
	secret := f.Secret
	if secret == nil {
		return state{hidden: true, problem: "the Secret with the serving certificate is gone"}
	}
	s := state{
		noted:        hasNotes(secret),
		previous:     parse(secret.Data[wellknown.KeyPreviousCAs]),
		number:       certgeneration.Latest(numberIn(secret, wellknown.AnnotationNextGeneration), numberIn(secret, wellknown.AnnotationGeneration)),
		issuer:       issuerIn(secret, wellknown.AnnotationCertificateProvider),
		nextIssuer:   issuerIn(secret, wellknown.AnnotationNextProvider),
		order:        secret.Annotations[wellknown.AnnotationLastRotationRequest],
		dueDone:      secret.Annotations[wellknown.AnnotationLastRotateAt],
		begun:        instantIn(secret, wellknown.AnnotationNextStoredAt),
		promoted:     instantIn(secret, wellknown.AnnotationPromotedAt),
		updated:      instantIn(secret, wellknown.AnnotationUpdatedAt),
		previousEnds: instantIn(secret, wellknown.AnnotationPreviousExpiresAt),
		restartedBy:  secret.Annotations[wellknown.AnnotationUnusableCA],
	}
	stamp, versions, _ := strings.Cut(secret.Annotations[wellknown.AnnotationNextTrustedAt], " ")
	s.trusted, s.versions = parseInstant(stamp), versions
	s.readNext(secret, now)
	s.readCurrent(f, now)
	s.readUnusableCA(secret, now)
	s.number = certgeneration.Latest(s.number, latestNumber(s.authorities()))
	return s
}

func hasNotes(secret *corev1.Secret) bool {
	for _, a := range []string{wellknown.AnnotationFingerprint, wellknown.AnnotationGeneration, wellknown.AnnotationNextGeneration} {
		if secret.Annotations[a] != "" {
			return true
		}
	}
	return false
}

// readCurrent reads what pods are given. It counts only if the manager put it there:
// pods may serve something else than a pair that somebody else did.
func (s *state) readCurrent(f Facts, now time.Time) {
	secret := f.Secret
	s.hidden = len(secret.Data[corev1.TLSCertKey]) == 0
	current, err := assemble(Generation{
		Number:      numberIn(secret, wellknown.AnnotationGeneration),
		CA:          secret.Data[caKey(secret)],
		Certificate: secret.Data[corev1.TLSCertKey],
		Key:         secret.Data[corev1.TLSPrivateKeyKey],
	}, now)
	noted := secret.Annotations[wellknown.AnnotationFingerprint]
	switch {
	case err != nil:
		s.problem = err.Error()
	case noted != "" && noted != current.leaf():
		s.problem = "the certificate is not the one that the manager put there"
	case noted == "" && f.distrusting(current.ca()) != "":
		s.problem = "the certificate is not one of the manager's, and " + f.distrusting(current.ca()) + " does not trust it"
	case noted != "" && s.outlived(f, current) != "":
		s.problem = "the certificate " + s.outlived(f, current)
	default:
		s.current, s.unnoted = current, noted == ""
		return
	}
	s.problem = fmt.Sprintf("Secret %s/%s: %s", secret.Namespace, secret.Name, s.problem)
}

func (s *state) readNext(secret *corev1.Secret, now time.Time) {
	next, err := assemble(Generation{
		Number:      numberIn(secret, wellknown.AnnotationNextGeneration),
		CA:          secret.Data[wellknown.KeyNextCA],
		Certificate: secret.Data[wellknown.KeyNextCertificate],
		Key:         secret.Data[wellknown.KeyNextKey],
	}, now)
	if err == nil {
		s.next = next
	}
}

// authorities are the CAs of all that pods serve, may serve, or will serve.
func (s *state) authorities() []*x509.Certificate {
	return append(slices.Clone(s.previous), s.given()...)
}

// given are the CAs of the current and the next generation.
func (s *state) given() []*x509.Certificate {
	var all []*x509.Certificate
	for _, h := range []*held{s.current, s.next} {
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

// parseInstant is zero for what is no instant: an annotation that somebody spoiled.
func parseInstant(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// readUnusableCA looks for a CA that another client put into the Secret and that can verify
// nothing, because it has expired or cannot be parsed. The CA of the current certificate expires
// with that, which is replaced for its own sake.
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
