package issuers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const somePEM = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"

func request(issuer Issuer) CertManagerRequest {
	return CertManagerRequest{
		Service: "server-service", Names: []string{"server-service.ns.svc"}, Validity: 90 * 24 * time.Hour, Issuer: issuer,
		Meta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{"olm.managed": "true"}},
	}
}

func issued(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "server-service-cert-issued"}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// withConditions returns an object with conditions, each "type status reason message".
func withConditions(conditions ...string) *unstructured.Unstructured {
	var list []any
	for _, c := range conditions {
		parts := strings.SplitN(c, " ", 4)
		list = append(list, map[string]any{"type": parts[0], "status": parts[1], "reason": parts[2], "message": parts[3]})
	}
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": list}}}
}

func TestFromCertManager(t *testing.T) {
	whole := issued(map[string]string{"tls.crt": "leaf", "tls.key": "key", "ca.crt": somePEM})
	ready := withConditions("Ready True Ready Certificate is up to date")
	own := Issuer{Kind: "Issuer", Group: certManagerGroup, Name: "internal"}
	cluster := Issuer{Kind: "ClusterIssuer", Group: certManagerGroup, Name: "corporate"}
	external := Issuer{Kind: "AWSPCAIssuer", Group: "awspca.cert-manager.io", Name: "aws"}
	const leaf = "Certificate server-service-cert"
	for name, tc := range map[string]struct {
		facts     CertManagerFacts
		published bool
		problem   string // what it reports, or nothing
	}{
		"issued": {
			facts:     CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: ready}, Secret: whole},
			published: true,
		},
		"reported as issued, and the Secret does not exist": {
			facts:   CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: ready}},
			problem: "cert-manager reports a certificate as issued, and Secret ns/server-service-cert-issued does not exist yet",
		},
		"no key": {
			facts:   CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: ready}, Secret: issued(map[string]string{"tls.crt": "leaf"})},
			problem: "Secret ns/server-service-cert-issued, issued by cert-manager, lacks tls.crt or tls.key: delete the Secret",
		},
		"not installed": {facts: CertManagerFacts{Request: request(Issuer{})}, problem: "cert-manager is not installed"},
		"uninstalled: the issued certificate stays in use": {
			facts: CertManagerFacts{Request: request(Issuer{}), Secret: whole}, published: true,
			problem: "cert-manager is not installed",
		},
		"the issuer does not exist": {facts: CertManagerFacts{Installed: true, Request: request(own)}, problem: "Issuer ns/internal does not exist"},
		"the issuer is not ready": {
			facts:   CertManagerFacts{Installed: true, Request: request(cluster), Issuer: withConditions("Ready False ErrGetKeyPair secret not found")},
			problem: "ClusterIssuer corporate is not ready: secret not found",
		},
		"the status of an external issuer is not read": {
			facts:   CertManagerFacts{Installed: true, Request: request(external), Objects: map[string]*unstructured.Unstructured{leaf: withConditions("Ready False Pending waiting for AWS")}},
			problem: "Certificate ns/server-service-cert is not ready: waiting for AWS; to see why: kubectl -n ns describe",
		},
		"not requested yet": {
			facts:   CertManagerFacts{Installed: true, Request: request(Issuer{})},
			problem: "Issuer ns/server-service-selfsigned is being created",
		},
		"no condition": {
			facts:   CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: withConditions()}},
			problem: "is cert-manager running?",
		},
		"an attempt failed": {
			facts: CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{
				leaf: withConditions("Issuing False Failed the name is forbidden", "Ready False DoesNotExist there is no Secret"),
			}},
			problem: "the name is forbidden",
		},
		"a renewal fails": {
			facts:     CertManagerFacts{Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: withConditions("Ready False Expired it ended")}, Secret: whole},
			published: true, problem: "it ended",
		},
		"an issuer without a CA": {
			facts: CertManagerFacts{
				Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: ready},
				Secret: issued(map[string]string{"tls.crt": "leaf", "tls.key": "key"}),
			},
			problem: "Issuer ns/internal publishes no CA: Secret ns/server-service-cert-issued has no ca.crt",
		},
		"a Secret that is not filled yet": {
			facts: CertManagerFacts{
				Installed: true, Request: request(own), Issuer: ready, Objects: map[string]*unstructured.Unstructured{leaf: withConditions("Ready False Issuing soon")},
				Secret: issued(map[string]string{"tls.key": "key"}),
			},
			problem: "soon",
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, FromCertManager(tc.facts), tc.published, tc.problem) })
	}
}

// The renewal time is from the status of the Certificate. Without it, the time is not known.
func TestRenewalOfCertManager(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-04-30T12:00:00Z": time.Date(2026, time.April, 30, 12, 0, 0, 0, time.UTC),
		"soon":                 {},
		"":                     {},
	} {
		leaf := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"renewalTime": text}}}
		f := CertManagerFacts{Installed: true, Request: request(Issuer{}), Objects: map[string]*unstructured.Unstructured{"Certificate server-service-cert": leaf}}
		installtest.Same(t, fmt.Sprintf("of %q, the renewal", text), want, FromCertManager(f).RenewAt)
	}
	installtest.Same(t, "the renewal without a Certificate", time.Time{}, FromCertManager(CertManagerFacts{Request: request(Issuer{})}).RenewAt)
}

func TestFromServiceCA(t *testing.T) {
	service := func(annotations map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "server-service", Annotations: annotations}}
	}
	failed := service(map[string]string{wellknown.AnnotationServingCertError: "secret ns/x does not have corresponding service UID"})
	pair := issued(map[string]string{"tls.crt": "leaf", "tls.key": "key"})
	bundle := &corev1.ConfigMap{Data: map[string]string{wellknown.KeyServiceCA: somePEM}}
	for name, tc := range map[string]struct {
		facts     ServiceCAFacts
		published bool
		problem   string
	}{
		"issued":                  {facts: ServiceCAFacts{service(nil), pair, bundle}, published: true},
		"no Service yet":          {problem: "is being created"},
		"nothing issued yet":      {facts: ServiceCAFacts{Service: service(nil), Bundle: bundle}, problem: "has not issued for Service ns/server-service yet"},
		"it could not issue":      {facts: ServiceCAFacts{Service: failed}, problem: "corresponding service UID"},
		"it could not renew":      {facts: ServiceCAFacts{failed, pair, bundle}, published: true, problem: "corresponding service UID"},
		"no bundle yet":           {facts: ServiceCAFacts{Service: service(nil), Secret: pair}, problem: "ConfigMap ns/server-service-ca"},
		"a bundle that is empty":  {facts: ServiceCAFacts{service(nil), pair, &corev1.ConfigMap{}}, problem: "ConfigMap ns/server-service-ca"},
		"a Secret without a leaf": {facts: ServiceCAFacts{service(nil), issued(nil), bundle}, problem: "Secret ns/server-service-cert-issued, issued by service-ca, lacks tls.crt or tls.key: delete the Secret"},
	} {
		t.Run(name, func(t *testing.T) { check(t, FromServiceCA(tc.facts), tc.published, tc.problem) })
	}
}

func check(t *testing.T, got Finding, published bool, problem string) {
	t.Helper()
	installtest.Same(t, "something is published", published, got.Published != nil)
	if published && string(got.Published.CA) != somePEM {
		t.Errorf("the CA is %q", got.Published.CA)
	}
	installtest.Says(t, "the problem", problem, got.Problem)
}
