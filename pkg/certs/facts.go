package certs

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Facts are the observed facts about the serving certificate of one Deployment.
type Facts struct {
	// Secret is the Secret with the name of the serving certificate; nil if there is none.
	Secret        *corev1.Secret
	SecretMeta    metav1.ObjectMeta
	Registrations []Registration
	// Names are the DNS names that the leaf must have.
	Names []string
	// Running is set if the Deployment exists. Its pods may serve a certificate.
	Running bool
	// Provider issues the certificate; empty for the manager.
	Provider managerv1alpha1.CertificateProvider
	// Issued is what the issuer issued last; nil for none. The manager issues on Decision.Mint.
	Issued *Generation
	// RotationRequest is the value of wellknown.AnnotationRotate.
	RotationRequest string
	// RotateAt is the result of RotateAtRequest.
	RotateAt string
	// RestartedFor is the generation for which the pods were last restarted, from their template.
	RestartedFor string
	// RestartCosts is why a restart of the pods makes calls fail; empty if it does not.
	RestartCosts string
	// Paused is set if spec.paused of the Deployment prevents a restart.
	Paused bool

	// OtherWriter is a message about another client that writes the Secret; empty for none.
	OtherWriter string

	// Live is set if Secret and Registrations were read from the API server in this reconciliation.
	Live bool
	// Evidence is nil if it was not obtained in this reconciliation.
	Evidence *Evidence
	// Propagation is nil if it was not obtained in this reconciliation, after Registrations were read.
	Propagation *Propagation
	// Rotating counts other certificates that are being replaced; nil if it was not obtained now.
	Rotating *int
	// ReadOnly is set if the API server refuses to write the Secret, or another client reverts each write.
	ReadOnly bool
	// Recreated is set if another client recreated the Secret after each deletion: it is not deleted now.
	Recreated bool
}

// Unused reports whether nothing can depend on a certificate. Caches suffice: a creation may fail.
func (f Facts) Unused() bool {
	return f.Secret == nil && len(f.Registrations) == 0 && !f.Running
}
