package subscriptions

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

type CertificateVolume struct {
	Volume corev1.Volume
	Path   string
}

func CertificateVolumes(secretName string) []CertificateVolume {
	return []CertificateVolume{
		{secretVolume(vocabulary.VolumeAPIServiceCert, secretName, "apiserver.crt", "apiserver.key"), vocabulary.MountAPIServiceCert},
		{secretVolume(vocabulary.VolumeWebhookCert, secretName, corev1.TLSCertKey, corev1.TLSPrivateKeyKey), vocabulary.MountWebhookCert},
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
			{Key: vocabulary.KeyCA, Path: vocabulary.KeyCA},
		},
	}}}
}
