package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What the API server answers about a webhook that it calls is read as what it is: only an
// answer of the webhook's server is proof that it serves.
func TestAnswersOfTheAPIServer(t *testing.T) {
	e := newParallelEnv(t)
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // an API server that hears nothing reports it
		}
	}
	review := func(response string) http.HandlerFunc {
		return answers(http.StatusOK, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":`+response+`}`)
	}
	serves := func(handler http.HandlerFunc) func(*hookServer) {
		return func(s *hookServer) { s.https(handler, &tls.Config{}) }
	}
	presents := func(change func(*x509.Certificate)) func(*hookServer) {
		return func(s *hookServer) {
			s.change = change
			s.https(http.NotFound, &tls.Config{})
		}
	}
	for name, test := range map[string]struct {
		serve func(*hookServer)
		want  probe.Reason
		says  string
	}{
		"404":                     {serve: serves(http.NotFound), want: probe.Serving},
		"401":                     {serve: serves(answers(http.StatusUnauthorized, "")), want: probe.Serving},
		"403":                     {serve: serves(answers(http.StatusForbidden, "no")), want: probe.Serving},
		"500":                     {serve: serves(answers(http.StatusInternalServerError, "broken")), want: probe.Serving},
		"503":                     {serve: serves(answers(http.StatusServiceUnavailable, "later")), want: probe.Serving},
		"no JSON":                 {serve: serves(answers(http.StatusOK, "hello")), want: probe.Serving},
		"no AdmissionReview":      {serve: serves(answers(http.StatusOK, `{"apiVersion":"v1","kind":"Status"}`)), want: probe.Serving},
		"a review of another":     {serve: serves(review(`{"uid":"another","allowed":true}`)), want: probe.Serving},
		"a review without answer": {serve: serves(review(`null`)), want: probe.Serving},
		"it permits":              {serve: serves(permit), want: probe.Interrupted, says: "lets the request for it pass"},
		"no server listens":       {serve: func(s *hookServer) { s.must(s.Close()) }, want: probe.Refused},
		"packets are swallowed":   {serve: func(*hookServer) {}, want: probe.TimedOut},
		"it is slow":              {serve: serves(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), want: probe.TimedOut},
		"plain HTTP":              {serve: func(s *hookServer) { s.http(http.NotFound) }, want: probe.NotTLS},
		"TLS 1.1": {serve: func(s *hookServer) {
			s.https(http.NotFound, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		}, want: probe.HandshakeFailed},
		"it hangs up":                   {serve: (*hookServer).hangUp, want: probe.Unreachable},
		"certificate of another client": {serve: func(s *hookServer) { s.otherCA = true; s.https(http.NotFound, &tls.Config{}) }, want: probe.ForeignCertificate, says: "unknown authority"},
		"an expired certificate":        {serve: presents(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), want: probe.UnfitCertificate, says: "(x509: certificate has expired or is not yet valid): "},
		"a future certificate":          {serve: presents(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), want: probe.UnfitCertificate, says: "(x509: certificate has expired or is not yet valid): "},
		"of another name":               {serve: presents(func(c *x509.Certificate) { c.DNSNames = []string{"other.shop.svc"} }), want: probe.UnfitCertificate, says: "other.shop.svc"},
		"of no name":                    {serve: presents(func(c *x509.Certificate) { c.DNSNames = nil }), want: probe.UnfitCertificate},
		"of a client":                   {serve: presents(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), want: probe.UnfitCertificate, says: "incompatible key usage"},
		"a caBundle without PEM":        {serve: func(s *hookServer) { s.bundle = []byte("none"); s.https(http.NotFound, &tls.Config{}) }, want: probe.Interrupted, says: "unable to load root certificates"},
		"a caBundle that is spoilt": {serve: func(s *hookServer) {
			s.bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("spoilt")})
			s.https(http.NotFound, &tls.Config{})
		}, want: probe.Interrupted, says: "unable to load root certificates"},
		"no Service": {serve: func(s *hookServer) {
			s.must(s.kube.CoreV1().Services(s.namespace).Delete(s.ctx, s.service, metav1.DeleteOptions{}))
		}, want: probe.Unreachable, says: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := *e
			sub.T = t
			s := sub.hookServer("hook-" + strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(name, ".", "")), " ", "-"))
			test.serve(s)
			got := s.called()
			if got.Reason != test.want || got.Err != nil && !strings.Contains(got.Err.Error(), test.says) {
				t.Errorf("it is %s (%v), want %s, and %q", got.Reason, got.Err, test.want, test.says)
			}
		})
	}
}

// hookServer is what a Service has behind it, and the CA that its caller trusts.
type hookServer struct {
	*env
	net.Listener
	service string
	change  func(*x509.Certificate) // of the certificate that it presents; nil for none
	otherCA bool                    // another CA signed that
	bundle  []byte
}

func (e *env) hookServer(service string) *hookServer {
	e.Helper()
	kube.Create(e, e.kube.CoreV1().Services(e.namespace), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	})
	s := &hookServer{env: e, Listener: listen(e), service: service}
	endpointBehind(e, service, service+"-0", s.Listener)
	return s
}

func (s *hookServer) https(handler http.HandlerFunc, config *tls.Config) {
	s.Helper()
	ca, certificate := s.certificate()
	if s.otherCA {
		ca, _ = s.certificate()
	}
	if s.bundle == nil {
		s.bundle = ca
	}
	config.Certificates = []tls.Certificate{certificate}
	server := &http.Server{Handler: handler, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.ServeTLS(s.Listener, "", "") }() // it ends with the test
	s.Cleanup(func() { _ = server.Close() })
}

func (s *hookServer) http(handler http.HandlerFunc) {
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(s.Listener) }() // it ends with the test
	s.Cleanup(func() { _ = server.Close() })
}

func (s *hookServer) hangUp() {
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(conn, make([]byte, 64), 64) // what it is asked does not matter
			_ = conn.Close()
		}
	}()
}

// certificate is one for the Service, changed as it is to be, and the CA that signed it.
func (s *hookServer) certificate() (ca []byte, certificate tls.Certificate) {
	s.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca of " + s.service}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(2 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{s.service + "." + s.namespace + ".svc"}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if s.change != nil {
		s.change(leaf)
	}
	caKey := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	signed := installtest.OrPanic(x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey))
	der := installtest.OrPanic(x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// called is what the API server finds, once it has learned of a canary for the Service.
func (s *hookServer) called() probe.Result {
	s.Helper()
	owner := csv("operator.v1", "server")
	owner.Namespace = s.namespace
	canary := kube.Create(s, s.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), render.Canary(owner, s.service, 443, s.bundle))
	ask := func(webhook string) error {
		_, err := s.olm.WebhookRollouts(s.namespace).Create(s.ctx, render.CanaryObject(canary.Name, webhook), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	s.eventually("the API server has learned of the canary", func() (bool, any) {
		err := ask(render.CanarySeen)
		return err != nil && strings.Contains(err.Error(), render.CanaryCondition), err
	})
	webhook := render.CanaryCalled(0)
	err := ask(webhook)
	s.Logf("the API server reports: %v", err)
	return probe.FromAPIServer(probe.Target{Address: s.service, What: "the Service"}, webhook, err)
}
