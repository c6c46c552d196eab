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

// Flaw is one CamelCase word for what makes a certificate useless.
type Flaw string

// The flaws.
const (
	// FlawIncomplete lacks the certificate or its key.
	FlawIncomplete Flaw = "Incomplete"
	// FlawKeyMismatch has the key of another certificate, or text that cannot be parsed.
	FlawKeyMismatch Flaw = "KeyMismatch"
	// FlawNoCA has no CA beside the certificate.
	FlawNoCA Flaw = "NoCA"
	// FlawWrongCA is not signed by the CA beside it.
	FlawWrongCA Flaw = "WrongCA"
	// FlawWrongUsage is signed, and not for servers.
	FlawWrongUsage Flaw = "WrongUsage"
	// FlawWrongName is not valid for the name that API servers call.
	FlawWrongName Flaw = "WrongName"
	// FlawExpired has expired, or its CA has.
	FlawExpired Flaw = "Expired"
	// FlawNotYetValid is not valid yet, or its CA is not.
	FlawNotYetValid Flaw = "NotYetValid"
)

// flawed is an error that says in one word what is wrong.
type flawed struct {
	flaw Flaw
	error
}

func (f flawed) Unwrap() error { return f.error }

// notSigned is why no CA beside a certificate verifies it.
func notSigned(err error) error {
	flaw := FlawWrongCA
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage {
		flaw = FlawWrongUsage
	}
	return flawed{flaw, fmt.Errorf("the certificate is not signed for serving by the CA beside it (%w)", err)}
}

// lapseOf is the flaw of what lapse speaks of.
func lapseOf(c *x509.Certificate, now time.Time) Flaw {
	if now.Before(c.NotBefore) {
		return FlawNotYetValid
	}
	return FlawExpired
}

// Rejection is something that an issuer issued, and that pods cannot be given.
type Rejection struct {
	// Flaw is what is wrong with it, in a word.
	Flaw Flaw
	// Message is the same in a sentence without its subject's place.
	Message string
}

// Judge reports what makes a generation useless for serving; nil when nothing does. One that is
// not valid yet is judged by the time at which it is.
func Judge(g Generation, names []string, now time.Time) *Rejection {
	h, err := assemble(g, now)
	if err != nil {
		var why flawed
		errors.As(err, &why)
		return &Rejection{Flaw: why.flaw, Message: err.Error()}
	}
	for _, c := range h.chain {
		if now.Before(c.NotBefore) {
			now = c.NotBefore
		}
	}
	if flaw, why := h.flaw(names, now); flaw != "" {
		return &Rejection{Flaw: flaw, Message: why}
	}
	return nil
}

// JudgeSecret is Judge for a Secret that pods mount and another client fills. One without a CA is
// not judged: the trust in it is that client's concern (see WithoutCA).
func JudgeSecret(secret *corev1.Secret, names []string, now time.Time) *Rejection {
	g := Generation{CA: secret.Data[caKey(secret)], Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	if len(g.CA) == 0 {
		return nil
	}
	return Judge(g, names, now)
}

// Status is the rejection as a status reports it: which object of which issuer it is about, and
// what follows from it.
func (r *Rejection) Status(issuer, object, consequence string, names []string) *managerv1alpha1.RejectedCertificate {
	if r == nil {
		return nil
	}
	return &managerv1alpha1.RejectedCertificate{
		Issuer: issuer, Object: object, Reason: string(r.Flaw),
		Message: fmt.Sprintf("%s, issued by %s, cannot be served: %s. %s. "+
			"Correct the issuer so that it issues a valid serving certificate for %s, together with its CA",
			object, issuer, r.Message, consequence, strings.Join(names, ", ")),
	}
}
