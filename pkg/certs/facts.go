package certs

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Facts is what the cluster holds about one Deployment's serving certificate.
type Facts struct {
	// Secret has the name of the Deployment's serving certificate; nil when there is none.
	Secret *corev1.Secret
	// SecretMeta is the metadata of a Secret that is to be created.
	SecretMeta metav1.ObjectMeta
	// Registrations is what makes API servers call the Deployment's webhooks.
	Registrations []Registration
	// Names are the DNS names that the leaf must carry.
	Names []string
	// Running is set when the Deployment exists: its pods may serve something.
	Running bool
	// Issuer is who is to issue the certificate; the manager when it is empty.
	Issuer managerv1alpha1.CertificateProvider
	// Issued is the generation that the issuer issued last; nil when there is none. The
	// manager itself issues when a decision asks it to (see Decision.Mint).
	Issued *Generation
	// RotationRequest is the value by which somebody orders a rotation (see wellknown.AnnotationRotate).
	RotationRequest string
	// RotateAt is an instant of the past that somebody wrote into status.certsRotateAt, which is an
	// order to OLM v0; empty for none (see OrderedDue).
	RotateAt string
	// RestartedFor is the number of the generation that the Deployment's pods were last
	// restarted for, as their template says it; empty for none.
	RestartedFor string
	// RestartCosts says why a restart of the Deployment's pods makes calls fail; empty when
	// it need not.
	RestartCosts string
	// Paused is set when the Deployment replaces no pods until somebody resumes it.
	Paused bool

	// OtherWriter says who else writes the Secret, in a sentence with a way out; empty for nobody.
	OtherWriter string

	// Live is set when Secret and Registered were read from the API server, in this pass.
	Live bool
	// Evidence is what pods serve; nil while that was not asked in this pass.
	Evidence *Evidence
	// Rotating is how many other certificates are being replaced; nil while that was not
	// asked in this pass.
	Rotating *int
	// ReadOnly is set when the API server refuses to write the Secret.
	ReadOnly bool
}

// Unused reports whether there is nothing that a certificate could break: no pods that serve one,
// and no registration. Caches are good enough for that: the Secret is created, which fails if it
// exists already.
func (f Facts) Unused() bool {
	return f.Secret == nil && len(f.Registrations) == 0 && !f.Running
}
