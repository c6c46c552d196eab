package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Reason is one CamelCase word for what makes a certificate useless.
type Reason string

// The flaws.
const (
	// ReasonIncomplete lacks the certificate or its key.
	ReasonIncomplete Reason = "Incomplete"
	// ReasonKeyMismatch has the key of another certificate, or text that cannot be parsed.
	ReasonKeyMismatch Reason = "KeyMismatch"
	// ReasonNoCA has no CA beside the certificate.
	ReasonNoCA Reason = "NoCA"
	// ReasonWrongCA is not signed by the CA beside it.
	ReasonWrongCA Reason = "WrongCA"
	// ReasonWrongUsage is signed, and not for servers.
	ReasonWrongUsage Reason = "WrongUsage"
	// ReasonWrongName is not valid for the name that API servers call.
	ReasonWrongName Reason = "WrongName"
	// ReasonExpired has expired, or its CA has.
	ReasonExpired Reason = "Expired"
	// ReasonNotYetValid is not valid yet, or its CA is not.
	ReasonNotYetValid Reason = "NotYetValid"
)

// invalidError is an error that says in one word what is wrong.
type invalidError struct {
	reason Reason
	error
}

func (f invalidError) Unwrap() error { return f.error }

// notSigned returns why no CA of a generation verifies its certificate.
func notSigned(err error) error {
	flaw := ReasonWrongCA
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage {
		flaw = ReasonWrongUsage
	}
	return invalidError{flaw, fmt.Errorf("the certificate is not signed for serving by the CA beside it (%w)", err)}
}

// validityReason returns the reason for a certificate that is not valid now.
func validityReason(c *x509.Certificate, now time.Time) Reason {
	if now.Before(c.NotBefore) {
		return ReasonNotYetValid
	}
	return ReasonExpired
}

// Rejection is something that an issuer issued, and that pods cannot be given.
type Rejection struct {
	// Reason is what is wrong with it, in a word.
	Reason Reason
	// Message is the same in a sentence without its subject's place.
	Message string
}

// Validate returns what makes a generation useless for serving; nil for nothing. It judges one
// that is not valid yet by the time at which it becomes valid.
func Validate(g Generation, names []string, now time.Time) *Rejection {
	h, err := assemble(g, now)
	if err != nil {
		var why invalidError
		errors.As(err, &why)
		return &Rejection{Reason: why.reason, Message: err.Error()}
	}
	for _, c := range h.chain {
		if now.Before(c.NotBefore) {
			now = c.NotBefore
		}
	}
	if flaw, why := h.invalidReason(names, now); flaw != "" {
		return &Rejection{Reason: flaw, Message: why}
	}
	return nil
}

// ValidateSecret is Validate for a Secret that pods mount and another client writes. It skips a
// Secret without a CA: the trust in it is that client's concern (see MissingCA).
func ValidateSecret(secret *corev1.Secret, names []string, now time.Time) *Rejection {
	g := Generation{CA: secret.Data[caKey(secret)], Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	if len(g.CA) == 0 {
		return nil
	}
	return Validate(g, names, now)
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
