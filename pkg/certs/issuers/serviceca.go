package issuers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// ConfigMaps is the resource of the ConfigMaps into which service-ca injects its CAs.
var ConfigMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// ServiceCAAnnotations returns the annotations of a Service that request a certificate of service-ca.
func ServiceCAAnnotations(service string) map[string]string {
	return map[string]string{wellknown.AnnotationServingCertSecret: names.Issued(names.Secret(service))}
}

// ServiceCABundle returns the ConfigMap into which service-ca injects its CAs.
func ServiceCABundle(service string, meta metav1.ObjectMeta) *corev1.ConfigMap {
	meta.Name = names.CA(service)
	meta.Annotations = map[string]string{wellknown.AnnotationInjectCABundle: "true"}
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta}
}

// ServiceCAFacts are the observed objects. An absent object is nil.
type ServiceCAFacts struct {
	Service *corev1.Service   // with the request
	Secret  *corev1.Secret    // named in the request
	Bundle  *corev1.ConfigMap // see ServiceCABundle
}

// FromServiceCA returns the progress of service-ca.
func FromServiceCA(f ServiceCAFacts) Finding {
	if f.Service == nil {
		return waiting("the Service that service-ca issues for is being created")
	}
	name := f.Service.Namespace + "/" + f.Service.Name
	published := pair(f.Secret)
	problem := ""
	if failure := f.Service.Annotations[wellknown.AnnotationServingCertError]; failure != "" {
		problem = fmt.Sprintf("service-ca cannot issue for Service %s: %s; it gives up after ten attempts: fix the cause, then delete the annotations %s and %[3]s-num of the Service",
			name, failure, wellknown.AnnotationServingCertError)
	}
	switch {
	case published == nil && problem != "":
		return Finding{Problem: problem}
	case published == nil && f.Secret != nil:
		return Finding{Problem: incomplete(f.Secret, f.Secret.Namespace, f.Secret.Name, "service-ca")}
	case published == nil:
		return waiting("service-ca has not issued for Service %s yet: it is part of OpenShift; elsewhere choose another provider", name)
	case f.Bundle == nil || !hasCertificate([]byte(f.Bundle.Data[wellknown.KeyServiceCA])):
		return waiting("service-ca has not put its CAs into %s of ConfigMap %s/%s yet", wellknown.KeyServiceCA, f.Service.Namespace, names.CA(f.Service.Name))
	}
	published.CA = []byte(f.Bundle.Data[wellknown.KeyServiceCA])
	return Finding{Published: published, Problem: problem}
}

func issuedByServiceCA(secret *corev1.Secret) bool {
	return secret.Annotations["service.beta.openshift.io/originating-service-name"] != ""
}
