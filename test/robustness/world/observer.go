package world

import (
	"crypto/tls"
	"encoding/pem"
	"net"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// Observer learns what pods serve, who connects with them, and which registrations API servers use. Its methods must not
// use the world.
type Observer interface {
	Uses(history.View)
	Serves(history.Serving)
	// Asks is called when a client has got the certificate of a pod.
	Asks(client string, pod history.Ref)
}

// observe reports what a pod serves, if that has changed. The world is locked.
func (w *World) observe(p *pod) {
	if w.Observer == nil {
		return
	}
	now := history.Serving{Pod: p.ref(), Certificate: p.certificate()}
	if now != p.observed {
		p.observed = now
		w.Observer.Serves(now)
	}
}

func (p *pod) ref() history.Ref {
	return history.Ref{Kind: "Pod", Namespace: p.namespace, Name: p.name, UID: p.uid}
}

func (p *pod) certificate() string {
	if p.server == nil || p.stopped {
		return ""
	}
	return chainOf(p.server.served())
}

func chainOf(certificate *tls.Certificate) string {
	if certificate == nil {
		return ""
	}
	var text []byte
	for _, der := range certificate.Certificate {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return string(text)
}

// connection is the end of a connection that a pod has. It knows the client.
type connection struct {
	net.Conn
	client string
}
