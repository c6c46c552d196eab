package issuers

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// The API of cert-manager. certmanager_finding.go reads the status of these objects.
var (
	Certificates   = schema.GroupVersionResource{Group: certManagerGroup, Version: "v1", Resource: "certificates"}
	Issuers        = schema.GroupVersionResource{Group: certManagerGroup, Version: "v1", Resource: "issuers"}
	ClusterIssuers = schema.GroupVersionResource{Group: certManagerGroup, Version: "v1", Resource: "clusterissuers"}
)

// CertManagerRequest describes the serving certificate of a Deployment to cert-manager.
type CertManagerRequest struct {
	Service  string
	Names    []string
	Validity time.Duration
	// RenewBefore is how long before its expiry the certificate is replaced; 0 for a third.
	RenewBefore time.Duration
	Key         certs.KeyType
	Issuer      Issuer
	// Meta is the metadata of the created objects, except the name.
	Meta metav1.ObjectMeta
}

// cert-manager does not reissue a leaf when its CA is renewed, so a leaf must not outlive its CA.
const caValidity = 5 * 365 * 24 * time.Hour

// Objects includes a CA without a selected issuer: each renewal of a self-signed leaf would be a new root.
func (o CertManagerRequest) Objects() []*unstructured.Unstructured {
	if o.Issuer != (Issuer{}) {
		return []*unstructured.Unstructured{o.leaf(o.Issuer)}
	}
	root := Issuer{Kind: "Issuer", Group: certManagerGroup, Name: names.SelfSigned(o.Service)}
	ca := Issuer{Kind: "Issuer", Group: certManagerGroup, Name: names.CA(o.Service)}
	return []*unstructured.Unstructured{
		o.object("Issuer", root.Name, map[string]any{"selfSigned": map[string]any{}}),
		o.authority(root),
		o.object("Issuer", ca.Name, map[string]any{"ca": map[string]any{"secretName": names.Issued(names.CA(o.Service))}}),
		o.leaf(ca),
	}
}

// Each renewal has a new key, so that the use of a leaked key ends.
func (o CertManagerRequest) leaf(issuer Issuer) *unstructured.Unstructured {
	return o.object("Certificate", names.Secret(o.Service), map[string]any{
		"secretName":     names.Issued(names.Secret(o.Service)),
		"secretTemplate": o.secretTemplate(),
		"dnsNames":       lists.Map(o.Names, func(name string) any { return name }),
		"usages":         []any{"digital signature", "server auth"},
		"privateKey":     o.privateKey(),
		"duration":       o.Validity.String(),
		"renewBefore":    certs.RenewBefore(o.RenewBefore, o.Validity).String(),
		"issuerRef":      issuer.reference(),
	})
}

func (o CertManagerRequest) authority(issuer Issuer) *unstructured.Unstructured {
	return o.object("Certificate", names.CA(o.Service), map[string]any{
		"secretName":     names.Issued(names.CA(o.Service)),
		"secretTemplate": o.secretTemplate(),
		"isCA":           true,
		"commonName":     o.Service,
		"usages":         []any{"cert sign"},
		"privateKey":     o.privateKey(),
		"duration":       max(caValidity, 4*o.Validity).String(),
		"renewBefore":    max(caValidity/3, 2*o.Validity).String(),
		"issuerRef":      issuer.reference(),
	})
}

func (o CertManagerRequest) privateKey() map[string]any {
	key := map[string]any{"rotationPolicy": "Always"}
	switch o.Key {
	case certs.KeyECDSAP384:
		key["algorithm"], key["size"] = "ECDSA", int64(384)
	case certs.KeyRSA3072:
		key["algorithm"], key["size"] = "RSA", int64(3072)
	case certs.KeyEd25519:
		key["algorithm"] = "Ed25519"
	default:
		key["algorithm"], key["size"] = "ECDSA", int64(256)
	}
	return key
}

// secretTemplate has the labels by which the manager's caches select Secrets.
func (o CertManagerRequest) secretTemplate() map[string]any {
	marks := map[string]any{}
	for key, value := range o.Meta.Labels {
		marks[key] = value
	}
	return map[string]any{"labels": marks}
}

func (i Issuer) reference() map[string]any {
	return map[string]any{"kind": i.Kind, "group": i.Group, "name": i.Name}
}

func (o CertManagerRequest) object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	meta := o.Meta
	meta.Name = name
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if err != nil {
		panic(err) // metadata always converts
	}
	delete(metadata, "creationTimestamp")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": certManagerGroup + "/v1", "kind": kind, "metadata": metadata, "spec": spec,
	}}
}

func issuedByCertManager(secret *corev1.Secret) bool { return CertificateOf(secret) != "" }

// CertificateOf returns the name of the cert-manager Certificate that a Secret was issued for.
func CertificateOf(secret *corev1.Secret) string {
	return secret.Annotations["cert-manager.io/certificate-name"]
}

// RemoveCertManagerMetadata removes the metadata of cert-manager from a Secret that it no longer writes.
func RemoveCertManagerMetadata(secret *corev1.Secret) {
	for _, marks := range []map[string]string{secret.Annotations, secret.Labels} {
		maps.DeleteFunc(marks, func(mark, _ string) bool {
			return strings.HasPrefix(mark, certManagerGroup+"/") || strings.HasSuffix(mark, "."+certManagerGroup+"/fao")
		})
	}
}
