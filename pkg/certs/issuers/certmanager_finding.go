package issuers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// CertManagerFacts are the observed objects of a CertManagerRequest. An absent object is nil.
type CertManagerFacts struct {
	Installed bool
	Request   CertManagerRequest
	// Objects are the existing objects of the request, by kind and name: "Certificate x".
	Objects map[string]*unstructured.Unstructured
	// Issuer is the selected issuer, if its kind is cert-manager's own.
	Issuer *unstructured.Unstructured
	// Secret is the Secret with the issued leaf.
	Secret *corev1.Secret
}

// FromCertManager returns the progress of cert-manager.
func FromCertManager(f CertManagerFacts) Finding {
	published := pair(f.Secret)
	if published != nil && !hasCertificate(published.CA) {
		return waiting("%s publishes no CA: Secret %s/%s has no ca.crt, which API servers need to trust a webhook; "+
			"name an issuer that has a CA, or choose the provider none and annotations that inject the CA",
			f.issuerName(), f.Secret.Namespace, f.Secret.Name)
	}
	found := Finding{Published: published, Problem: f.problem(), RenewAt: f.renewAt()}
	if published == nil && found.Problem == "" {
		found.Problem = incomplete(f.Secret, f.Request.Meta.Namespace, names.Issued(names.Secret(f.Request.Service)), "cert-manager")
	}
	return found
}

func (f CertManagerFacts) renewAt() time.Time {
	leaf := f.Objects["Certificate "+names.Secret(f.Request.Service)]
	if leaf == nil {
		return time.Time{}
	}
	text, _, _ := unstructured.NestedString(leaf.Object, "status", "renewalTime")
	at, _ := time.Parse(time.RFC3339, text) // zero if cert-manager does not report it
	return at
}

// problem returns the first obstacle for cert-manager, causes first.
func (f CertManagerFacts) problem() string {
	if !f.Installed {
		return fmt.Sprintf("cert-manager is not installed: there is no CustomResourceDefinition %s; install cert-manager, or choose another provider", Certificates.GroupResource())
	}
	if f.Request.Issuer.Group == certManagerGroup {
		if f.Issuer == nil {
			return fmt.Sprintf("%s does not exist: create it, or name another", f.issuerName())
		}
		if why := notReadyMessage(f.Issuer); why != "" {
			return fmt.Sprintf("%s is not ready: %s", f.issuerName(), why)
		}
	}
	for _, desired := range f.Request.Objects() {
		live := f.Objects[desired.GetKind()+" "+desired.GetName()]
		name := fmt.Sprintf("%s %s/%s", desired.GetKind(), desired.GetNamespace(), desired.GetName())
		if live == nil {
			return name + " is being created"
		}
		if why := notReadyMessage(live); why != "" {
			return fmt.Sprintf("%s is not ready: %s; to see why: kubectl -n %s describe certificates,certificaterequests", name, why, desired.GetNamespace())
		}
	}
	return ""
}

func (f CertManagerFacts) issuerName() string {
	i := f.Request.Issuer
	switch {
	case i == Issuer{}:
		return "the issuer created for it"
	case i.Kind == "ClusterIssuer" && i.Group == certManagerGroup:
		return i.String()
	default:
		return fmt.Sprintf("%s %s/%s", i.Kind, f.Request.Meta.Namespace, i.Name)
	}
}

// notReadyMessage returns why a Certificate or an Issuer is not ready; empty if it is ready.
func notReadyMessage(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	reported := "it has no status yet: is cert-manager running?"
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["status"] == string(metav1.ConditionTrue) && condition["type"] == "Ready" {
			return ""
		}
		// The cause of a failed attempt is more useful than the absence of a certificate.
		failed := condition["type"] == "Issuing" && condition["reason"] == "Failed"
		if text, _ := condition["message"].(string); text != "" && (failed || condition["type"] == "Ready") {
			reported = text
			if failed {
				break
			}
		}
	}
	return reported
}
