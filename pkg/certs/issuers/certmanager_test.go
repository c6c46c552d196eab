package issuers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Without an issuer, the leaf is signed by a self-signed CA, and is never its own root.
func TestCertManagerObjects(t *testing.T) {
	name := func(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }
	for title, tc := range map[string]struct {
		issuer Issuer
		want   []string
		signer string
	}{
		"own CA": {
			want:   []string{"Issuer server-service-selfsigned", "Certificate server-service-ca", "Issuer server-service-ca", "Certificate server-service-cert"},
			signer: "server-service-ca",
		},
		"named issuer": {
			issuer: Issuer{Kind: "ClusterIssuer", Group: certManagerGroup, Name: "corporate"},
			want:   []string{"Certificate server-service-cert"}, signer: "corporate",
		},
	} {
		t.Run(title, func(t *testing.T) {
			objects := request(tc.issuer).Objects()
			var got []string
			for _, o := range objects {
				got = append(got, name(o))
				installtest.Same(t, "the namespace of "+name(o), "ns", o.GetNamespace())
				installtest.Same(t, "the label of "+name(o), "true", o.GetLabels()["olm.managed"])
			}
			if installtest.Same(t, "objects", tc.want, got); t.Failed() {
				return
			}
			leaf := objects[len(objects)-1].Object
			expect := func(want string, path ...string) {
				t.Helper()
				got, _, _ := unstructured.NestedString(leaf, path...)
				installtest.Same(t, path[len(path)-1], want, got)
			}
			expect(tc.signer, "spec", "issuerRef", "name")
			expect("Always", "spec", "privateKey", "rotationPolicy")
			expect("720h0m0s", "spec", "renewBefore") // a third of 90 days
			isCA, _, _ := unstructured.NestedBool(leaf, "spec", "isCA")
			installtest.Same(t, "the leaf is a CA", false, isCA)
		})
	}
}

// The settings for certificates apply to every provider.
func TestCertManagerKeyAndRenewal(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(*CertManagerRequest)
		renewBefore string
		key         map[string]any
	}{
		"defaults":                  {func(*CertManagerRequest) {}, "720h0m0s", map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"}},
		"P-384, a day before":       {func(o *CertManagerRequest) { o.Key, o.RenewBefore = certs.KeyECDSAP384, 24*time.Hour }, "24h0m0s", map[string]any{"algorithm": "ECDSA", "size": int64(384), "rotationPolicy": "Always"}},
		"RSA, renewBefore too long": {func(o *CertManagerRequest) { o.Key, o.RenewBefore = certs.KeyRSA3072, 365*24*time.Hour }, "1944h0m0s", map[string]any{"algorithm": "RSA", "size": int64(3072), "rotationPolicy": "Always"}},
		"Ed25519 has one length":    {func(o *CertManagerRequest) { o.Key = certs.KeyEd25519 }, "720h0m0s", map[string]any{"algorithm": "Ed25519", "rotationPolicy": "Always"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := request(Issuer{Kind: "Issuer", Name: "corporate"})
			tc.change(&o)
			spec := o.Objects()[0].Object["spec"].(map[string]any)
			installtest.Same(t, "renewBefore", any(tc.renewBefore), spec["renewBefore"])
			installtest.Same(t, "the private key", any(tc.key), spec["privateKey"])
		})
	}
}
