package probe

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync/atomic"
)

// authenticating is a connection to a server that may demand a client certificate, which API servers may have
// (--admission-control-config-file) and the manager has not. Under TLS 1.2 the server ends the handshake with an
// alert. Under TLS 1.3 the alert is the answer to the first write.
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

func (c authenticating) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.note(err)
	return n, err
}

// Nothing reads the alert after the server has closed the connection.
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

// Alerts of RFC 8446, section 6.2, for a missing certificate. OpenSSL sends the first under TLS 1.2.
var refusals = []tls.AlertError{
	40,  // handshake_failure
	42,  // bad_certificate
	46,  // certificate_unknown
	48,  // unknown_ca
	49,  // access_denied
	116, // certificate_required
}
