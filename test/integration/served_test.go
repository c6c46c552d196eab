package integration

import (
	"crypto/tls"
	"crypto/x509"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// served is a certificate that a pod presented from one state of the API server to another. It
// may have begun later, as trust has to come first, and it ended later: a client that finds another
// presented may remove the trust in this one at once.
type served struct {
	pair        tls.Certificate
	since, till int
}

func (p *playedPod) noteServed(pair tls.Certificate, since int) {
	p.Helper()
	if n := len(p.served); n > 0 {
		p.served[n-1].till = number(marker(p.env).ResourceVersion)
	}
	p.served = append(p.served, served{pair, since, math.MaxInt})
}

// marker is a Secret that records the current resourceVersion of the API server.
func marker(e *env) *corev1.Secret {
	e.Helper()
	return kube.Create(e, e.kube.CoreV1().Secrets(e.namespace), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-"}})
}

// trustsAllServed fails when there ever was a state of a registration under which an API
// server would have refused what a pod served then.
func (w *trustWatch) trustsAllServed(p *playedPod) {
	w.Helper()
	checked, last := 0, map[string]func(till int){}
	for _, event := range w.history() {
		if _, secret := event.Object.(*corev1.Secret); secret {
			continue
		}
		name, bundle := bundleOf(event.Object)
		since := versionOf(event)
		if before := last[name]; before != nil {
			before(since)
		}
		last[name] = func(till int) {
			for _, s := range p.served {
				if s.since < till && s.till > since {
					w.verifies(s.pair, bundle, name, since)
					checked++
				}
			}
		}
	}
	for _, still := range last {
		still(math.MaxInt)
	}
	if len(p.served) < 2 || checked < 2*len(p.served) {
		w.Errorf("of %d certificates that were served %d states of registrations were compared: this shows nothing", len(p.served), checked)
	}
}

// verifies fails when an API server would not under a bundle.
func (w *trustWatch) verifies(pair tls.Certificate, bundle []byte, name string, version int) {
	w.Helper()
	roots, rest := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		w.must(err)
		rest.AddCert(c)
	}
	_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest, DNSName: "server-service." + w.namespace + ".svc"})
	if err != nil {
		w.Errorf("from resourceVersion %d on %s did not trust what a pod served, a certificate of %q: %v", version, name, pair.Leaf.Issuer, err)
	}
}
