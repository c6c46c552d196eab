package probe

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync/atomic"
)

// authenticating is a connection to a server that may authenticate its callers by a client
// certificate. API servers may have one (--admission-control-config-file); the manager has none.
//
// Under TLS 1.2 such a server ends the handshake with an alert. Under TLS 1.3 the client's
// handshake is complete by then, and the alert is the answer to what the client writes first.
type authenticating struct {
	*tls.Conn
	asked, refused *atomic.Bool
}

// authenticates returns a connection whose handshake the caller has yet to do.
func authenticates(raw net.Conn, config *tls.Config) authenticating {
	c := authenticating{asked: new(atomic.Bool), refused: new(atomic.Bool)}
	// It is called after the server's certificate was verified.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c.asked.Store(true)
		return new(tls.Certificate), nil
	}
	c.Conn = tls.Client(raw, config)
	return c
}

// Read notes the alert.
func (c authenticating) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.note(err)
	return n, err
}

// Write looks for the alert when the server has closed the connection: nothing reads it
// afterwards.
func (c authenticating) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_, _ = c.Read(make([]byte, 1))
	}
	return n, err
}

// note records whether an error is that the server refuses a caller without a certificate.
func (c authenticating) note(err error) {
	var operation *net.OpError
	if !c.asked.Load() || !errors.As(err, &operation) || operation.Op != "remote error" {
		return
	}
	// crypto/tls exports no type of a received alert; its text is that of an AlertError.
	text := operation.Err.Error()
	if slices.ContainsFunc(refusals, func(alert tls.AlertError) bool { return alert.Error() == text }) {
		c.refused.Store(true)
	}
}

// refusals are the alerts of RFC 8446, section 6.2, by which servers refuse a caller that has not
// the certificate that they asked for. OpenSSL sends the first under TLS 1.2.
var refusals = []tls.AlertError{
	40,  // handshake_failure
	42,  // bad_certificate
	46,  // certificate_unknown
	48,  // unknown_ca
	49,  // access_denied
	116, // certificate_required
}
