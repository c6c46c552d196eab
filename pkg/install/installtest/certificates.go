package installtest

import (
	corev1 "k8s.io/api/core/v1"
)

// The directories in which containers find their serving certificates.
const (
	WebhookCert = "/tmp/k8s-webhook-server/serving-certs"
	ServerCert  = "/apiserver.local.config/certificates"
)

// Secret returns a volume of a Secret.
func Secret(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
}
