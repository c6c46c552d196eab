package subscriptions

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type CertificateVolume struct {
	Volume corev1.Volume
	Path   string
}

func CertificateVolumes(secretName string) []CertificateVolume {
	return []CertificateVolume{
		{secretVolume(wellknown.VolumeAPIServiceCert, secretName, "apiserver.crt", "apiserver.key"), wellknown.MountAPIServiceCert},
		{secretVolume(wellknown.VolumeWebhookCert, secretName, corev1.TLSCertKey, corev1.TLSPrivateKeyKey), wellknown.MountWebhookCert},
	}
}

// secretVolume shows a pod what it serves with and the CA that signed it, and
// nothing else of the Secret.
func secretVolume(name, secretName, certificate, key string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secretName,
		Items: []corev1.KeyToPath{
			{Key: corev1.TLSCertKey, Path: certificate},
			{Key: corev1.TLSPrivateKeyKey, Path: key},
			{Key: wellknown.KeyCA, Path: wellknown.KeyCA},
		},
	}}}
}
