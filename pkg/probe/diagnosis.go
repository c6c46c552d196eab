package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// because appends to the target's name. A state has one text, without ports and times: a new text is a write.
func because(reason Reason, target Target, format string, args ...any) Result {
	finding := fmt.Sprintf(format, args...)
	return Result{Target: target, Reason: reason, Err: fmt.Errorf("%s at %s %s", target.What, target.Address, finding)}
}

func notConnected(target Target, err error, timeout time.Duration) Result {
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted(target)
	case errors.Is(err, syscall.ECONNREFUSED):
		return because(Refused, target, "refuses connections: "+
			"check that the webhook server runs and listens on the port that its Service targets")
	case isTimeout(err):
		return because(TimedOut, target, "accepted no connection within %s: "+
			"check the network policies between it and the manager", timeout)
	default:
		return because(Unreachable, target, "cannot be reached (%v): "+
			"check the routes and network policies between it and the manager", withoutAddresses(err))
	}
}

func notTrusted(target Target, err error, expected trust, timeout time.Duration) Result {
	var plain tls.RecordHeaderError
	var rejected *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted(target)
	case isTimeout(err):
		return because(TimedOut, target, "accepted the connection but did not finish a TLS handshake within %s: "+
			"check that the webhook server is not stuck and serves TLS on this port", timeout)
	case errors.As(err, &plain):
		return because(NotTLS, target, "answers %q instead of TLS: "+
			"let the webhook server serve HTTPS, with the certificate mounted into its container", plain.RecordHeader[:])
	case errors.As(err, &rejected):
		return badCertificate(target, rejected, expected)
	default:
		return because(HandshakeFailed, target, "breaks the TLS handshake off (%v): "+
			"API servers need TLS 1.2 or later and HTTP/1.1 of it, and show no certificate of their own", withoutAddresses(err))
	}
}

// What identifies the certificate comes last: a condition's message may be cut there.
func badCertificate(target Target, rejected *tls.CertificateVerificationError, expected trust) Result {
	leaf := rejected.UnverifiedCertificates[0]
	if !expected.signed(rejected.UnverifiedCertificates) {
		return because(ForeignCertificate, target, "presents a certificate that is not signed by the expected CA: "+
			"let the webhook server serve the certificate mounted into its container (presented: %s; expected CA: %s)",
			describe(leaf), expected)
	}
	return because(UnfitCertificate, target, "presents a certificate that the expected CA signed, but %s: "+
		"let the webhook server serve the certificate mounted into its container, and reload it when it changes (presented: %s)",
		flaw(rejected.Err, target.ServerName), describe(leaf))
}

// flaw is what keeps a certificate of the expected CA from being accepted.
func flaw(err error, serverName string) string {
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	lapsed := errors.As(err, &invalid) && invalid.Reason == x509.Expired
	switch {
	case errors.As(err, &hostname):
		return "it is not for " + serverName
	case lapsed && invalid.Cert.IsCA:
		return "that CA has expired or is not valid yet"
	case lapsed:
		return "it has expired or is not valid yet"
	default:
		return err.Error()
	}
}

func interrupted(target Target) Result {
	return because(Interrupted, target, "was not probed to the end: the probe was cancelled, or the time for all targets was over")
}

// withoutAddresses is the cause in a network error, which else also names both ends.
func withoutAddresses(err error) error {
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}

func isTimeout(err error) bool {
	timed, ok := errors.AsType[net.Error](err)
	return ok && timed.Timeout()
}

func describe(c *x509.Certificate) string {
	return fmt.Sprintf("for %q, subject %q, issuer %q, serial %x, from %s to %s", c.DNSNames, c.Subject, c.Issuer,
		c.SerialNumber, c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}
