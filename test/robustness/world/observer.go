package world

import (
	"cmp"
	"crypto/tls"
	"encoding/pem"
	"net"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// Observer learns what pods serve, and who connects with them. Its methods must not use the world.
type Observer interface {
	Serves(history.Serving)
	// Asks is called when a client has got the certificate of a pod.
	Asks(client string, pod history.Ref)
}

// observe tells what a pod serves, if that has changed. The world is locked.
func (w *World) observe(p *pod) {
	if w.Observer == nil {
		return
	}
	now := history.Serving{Pod: p.ref(), Services: w.servicesOf(p), Certificate: p.certificate(), Ready: p.ready}
	if !reflect.DeepEqual(now, p.observed) {
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

func (w *World) servicesOf(p *pod) []history.Ref {
	var all []history.Ref
	for _, s := range list(w.objects.services) {
		if s.Namespace == p.namespace && selects(s, p.labels) {
			all = append(all, history.Ref{Kind: "Service", Namespace: s.Namespace, Name: s.Name})
		}
	}
	slices.SortFunc(all, func(a, b history.Ref) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func selects(s *corev1.Service, pod map[string]string) bool {
	return len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod))
}

// connection is the end of a connection that a pod has. It knows the client.
type connection struct {
	net.Conn
	client string
}
