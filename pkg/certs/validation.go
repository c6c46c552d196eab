package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Reason is why a certificate cannot be served.
type Reason string

// The reasons.
const (
	ReasonIncomplete  Reason = "Incomplete"  // the certificate or its key is missing.
	ReasonKeyMismatch Reason = "KeyMismatch" // the key belongs to another certificate, or cannot be parsed.
	ReasonNoCA        Reason = "NoCA"        // the CA is missing.
	ReasonWrongCA     Reason = "WrongCA"     // the CA did not sign the certificate.
	ReasonWrongUsage  Reason = "WrongUsage"  // the certificate is not for servers.
	ReasonWrongName   Reason = "WrongName"   // the certificate does not have the name that API servers call.
	ReasonExpired     Reason = "Expired"     // the certificate or its CA has expired.
	ReasonNotYetValid Reason = "NotYetValid" // the certificate or its CA is not valid yet.
)

type invalidError struct {
	reason Reason
	error
}

func (f invalidError) Unwrap() error { return f.error }

func notSigned(err error) error {
	flaw := ReasonWrongCA
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.IncompatibleUsage {
		flaw = ReasonWrongUsage
	}
	return invalidError{flaw, fmt.Errorf("the certificate is not signed for serving by the CA next to it (%w)", err)}
}

func validityReason(c *x509.Certificate, now time.Time) Reason {
	if now.Before(c.NotBefore) {
		return ReasonNotYetValid
	}
	return ReasonExpired
}

// Rejection is why pods cannot be given what an issuer issued.
type Rejection struct {
	Reason Reason
	// Message explains the reason without naming the object.
	Message string
}

// validate judges a generation that is not valid yet by the time at which it becomes valid.
func validate(g Generation, names []string, now time.Time) *Rejection {
	h, err := assemble(g, now)
	if err != nil {
		why, _ := errors.AsType[invalidError](err)
		return &Rejection{Reason: why.reason, Message: err.Error()}
	}
	for _, c := range h.chain {
		now = latest(now, c.NotBefore)
	}
	if flaw, why := h.invalidReason(names, now); flaw != "" {
		return &Rejection{Reason: flaw, Message: why}
	}
	return nil
}

// ValidateSecret is for a Secret of another client. That client is responsible for a CA (see MissingCA).
func ValidateSecret(secret *corev1.Secret, names []string, now time.Time) *Rejection {
	g := Generation{CA: secret.Data[caKey(secret)], Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	if len(g.CA) == 0 {
		return nil
	}
	return validate(g, names, now)
}

// Status returns the rejection as a status reports it: the issuer's object, and the consequence.
func (r *Rejection) Status(issuer, object, consequence string, names []string) *managerv1alpha1.RejectedCertificate {
	if r == nil {
		return nil
	}
	return &managerv1alpha1.RejectedCertificate{
		Issuer: issuer, Object: object, Reason: string(r.Reason),
		Message: fmt.Sprintf("%s, issued by %s, cannot be served: %s. %s. "+
			"Correct the issuer so that it issues a valid serving certificate for %s, together with its CA",
			object, issuer, r.Message, consequence, strings.Join(names, ", ")),
	}
}

// Inspection is what a Secret contains that another client manages.
type Inspection struct {
	NotBefore, NotAfter time.Time
	// CA is the content of ca.crt, PEM.
	CA []byte
	// CAFingerprint is the hex SHA-256 of the first CA in DER form.
	CAFingerprint string
}

// MissingCA explains the effect of a Secret without a CA, which some issuers write.
func MissingCA(secret *corev1.Secret) string {
	return fmt.Sprintf("Secret %s/%s has no %s, so new pods cannot mount it; "+
		"add the CA: kubectl -n %[1]s patch secret %[2]s --type=merge -p '{\"data\":{\"%[3]s\":\"'$(base64 -w0 CA-FILE)'\"}}'",
		secret.Namespace, secret.Name, wellknown.KeyCA)
}

// Inspect reads a serving certificate without validating it; nil if there is none.
func Inspect(secret *corev1.Secret) *Inspection {
	if secret == nil {
		return nil
	}
	chain := parse(secret.Data[corev1.TLSCertKey])
	if len(chain) == 0 {
		return nil
	}
	seen := &Inspection{NotBefore: chain[0].NotBefore, NotAfter: expiry(chain), CA: secret.Data[wellknown.KeyCA]}
	if authorities := parse(seen.CA); len(authorities) > 0 {
		seen.CAFingerprint = hexSHA256(authorities[0].Raw)
	}
	return seen
}
