package judge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// story is a history that is written by hand. Each event is a second after the previous one.
type story struct {
	history.History
	now      time.Time
	revision int64
}

var (
	service    = history.Ref{Kind: "Service", Namespace: "operators", Name: "hook"}
	configured = history.Ref{Kind: "ValidatingWebhookConfiguration", Name: "hook", UID: "w"}
	crd        = history.Ref{Kind: "CustomResourceDefinition", Name: "engines.example.com", UID: "d"}
	secret     = history.Ref{Kind: "Secret", Namespace: "operators", Name: "hook-cert", UID: "s"}
	csv        = history.Ref{Kind: "ClusterServiceVersion", Namespace: "operators", Name: "hook.v1", UID: "c"}
	pod        = history.Ref{Kind: "Pod", Namespace: "operators", Name: "hook-0"}
)

func begin() *story {
	return &story{
		History: history.History{Clients: map[string]history.Role{
			"manager": history.Manager, "author": history.Author, "admin": history.Administrator, "kubelet": history.ControlPlane, "gitops": history.Neighbour,
		}},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func (s *story) then(e history.Event) *story {
	s.now = s.now.Add(time.Second)
	e.At = s.now
	s.Events = append(s.Events, e)
	return s
}

func (s *story) waits(d time.Duration) *story {
	s.now = s.now.Add(d)
	return s
}

func (s *story) writes(client, verb string, ref history.Ref, before, after history.Object) *story {
	s.revision++
	return s.then(history.Event{Write: &history.Write{Client: client, Verb: verb, Object: ref, Revision: s.revision, Before: before, After: after}})
}

func (s *story) serves(certificate string) *story {
	return s.then(history.Event{Serving: &history.Serving{Pod: pod, Certificate: certificate}})
}

// lists writes the EndpointSlice of the Service.
func (s *story) lists(ready bool) *story {
	return s.writes("kubelet", "update", history.Ref{Kind: "EndpointSlice", Namespace: "operators", Name: "hook-1"}, nil, history.Object{
		"metadata":  history.Object{"namespace": "operators", "labels": history.Object{"kubernetes.io/service-name": service.Name}},
		"endpoints": []any{history.Object{"targetRef": history.Object{"kind": "Pod", "name": pod.Name}, "conditions": history.Object{"ready": ready}}},
	})
}

func (s *story) dials() *story {
	return s.then(history.Event{Handshake: &history.Handshake{Client: "manager", Pod: pod, Verified: true}})
}

func (s *story) readsLive(kind string) *story {
	return s.then(history.Event{Read: &history.Read{Client: "manager", Object: history.Ref{Kind: kind, Namespace: "operators"}, Live: true}})
}

func (s *story) sees(server string, ref history.Ref, revision int64) *story {
	return s.then(history.Event{View: &history.View{APIServer: server, Object: ref, Revision: revision}})
}

func (s *story) calls(about string, outcome history.Outcome) *story {
	return s.then(history.Event{Call: &history.Call{
		APIServer: "a", Registration: configured, Webhook: "hook.example.com", About: history.Ref{Kind: about, Namespace: "operators", Name: "x"},
		Sent: s.now, Outcome: outcome, Error: map[history.Outcome]string{history.Failed: "connection refused"}[outcome],
	}})
}

func (s *story) reports(about history.Ref, text string) *story {
	return s.then(history.Event{Message: &history.Message{Client: "manager", About: about, Text: text}})
}

func (s *story) condition(kind history.ConditionKind, begin bool, objects ...history.Ref) *story {
	return s.then(history.Event{Condition: &history.Condition{ID: string(kind), Kind: kind, Begin: begin, Objects: objects, Cause: "Secret operators/missing"}})
}

// installed is a webhook that was registered as it should be.
func installed(c ca) *story {
	return begin().writes("author", "create", csv, nil, history.Object{}).lists(true).serves(c.leaf()).dials().writes("manager", "create", configured, nil, hook(c))
}

// hook is a configuration with one webhook. A change alters it.
func hook(c ca, changes ...func(webhook history.Object)) history.Object {
	webhook := history.Object{
		"name": "hook.example.com", "failurePolicy": "Fail",
		"clientConfig": history.Object{"caBundle": c.bundle(), "service": history.Object{"namespace": service.Namespace, "name": service.Name}},
		"rules":        []any{history.Object{"operations": []any{"CREATE", "UPDATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}}},
	}
	for _, change := range changes {
		change(webhook)
	}
	return history.Object{"webhooks": []any{webhook}}
}

func with(field string, value any) func(history.Object) {
	return func(webhook history.Object) { webhook[field] = value }
}

// judged returns the numbers of the invariants that a story violates.
func judged(s *story) []string {
	var numbers []string
	for _, v := range Judge(s.History) {
		numbers = append(numbers, v.Invariant)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// stories are histories with the invariants that each of them violates.
type stories map[string]struct {
	story *story
	want  []string
}

func (all stories) run(t *testing.T) {
	t.Helper()
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			if got := judged(test.story); !slices.Equal(got, test.want) {
				t.Errorf("violated are %v, want %v: %v", got, test.want, Judge(test.story.History))
			}
		})
	}
}

// ca is a certificate authority. Its bundle may have the certificates of others.
type ca struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	others      []*x509.Certificate
}

func newCA(t *testing.T) ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := ca{key: key, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca", SerialNumber: rand.Text()}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: begin().now.Add(-time.Hour), NotAfter: begin().now.Add(time.Hour),
	}}
	c.certificate = c.sign(c.certificate)
	return c
}

func (c ca) sign(template *x509.Certificate) *x509.Certificate {
	raw, err := x509.CreateCertificate(rand.Reader, template, c.certificate, &c.key.PublicKey, c.key)
	if err != nil {
		panic(err)
	}
	signed, err := x509.ParseCertificate(raw)
	if err != nil {
		panic(err)
	}
	return signed
}

// and returns the CA with a bundle that has the certificates of another one, too.
func (c ca) and(other ca) ca {
	c.others = append(slices.Clone(c.others), other.certificate)
	return c
}

// bundle is the caBundle as JSON has it.
func (c ca) bundle() string {
	text := pemOf(c.certificate)
	for _, o := range c.others {
		text = append(text, pemOf(o)...)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// leaf is a serving certificate of the CA.
func (c ca) leaf() string {
	return string(pemOf(c.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{service.Name + "." + service.Namespace + ".svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: begin().now.Add(-time.Hour), NotAfter: begin().now.Add(time.Hour),
	})))
}

func (c ca) keyPEM(t *testing.T) string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// secretWith is a Secret with some data.
func secretWith(data map[string]string) history.Object {
	encoded := history.Object{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return history.Object{"data": encoded}
}
