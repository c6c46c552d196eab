package subscriptions

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Refusals returns the ignored parts of the config with the next step. All other parts apply.
func (c Config) Refusals(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var refusals []string
	refuse := func(format string, args ...any) {
		refusals = append(refusals, fmt.Sprintf("Subscription %s: ", c.Subscription)+fmt.Sprintf(format, args...))
	}
	for i, volume := range c.Volumes {
		if IsCertificateVolume(volume.Name) {
			refuse("spec.config.volumes[%d] has the name %s of the volume with the serving certificate: give it another", i, volume.Name)
		}
	}
	for i, mount := range c.VolumeMounts {
		if HidesCertificate(mount) {
			refuse("spec.config.volumeMounts[%d] hides the serving certificate at %s: mount it elsewhere", i, mount.MountPath)
		}
	}
	for _, annotation := range slices.Sorted(maps.Keys(c.Annotations)) {
		if c.injects(annotation) {
			refuse("spec.config.annotations has %s, with which another controller would write the caBundle that the manager writes: remove it, or set %s to none",
				annotation, wellknown.AnnotationCertificateProvider)
		}
	}
	for _, name := range c.invalidDisabled(csv) {
		refuse("spec.config.annotations, %s, names %s", wellknown.AnnotationDisabledWebhooks, name)
	}
	return slices.Concat(refusals, c.FailOpen(csv).Refusals, c.availabilityRefusals(csv))
}

// IsCertificateVolume reports whether a volume has the name of one of the certificate volumes.
func IsCertificateVolume(name string) bool {
	return name == wellknown.VolumeWebhookCert || name == wellknown.VolumeAPIServiceCert
}

// HidesCertificate ignores a mount of a parent directory: Kubernetes mounts the certificate into it.
func HidesCertificate(mount corev1.VolumeMount) bool {
	place := path.Clean(mount.MountPath)
	return IsCertificateVolume(mount.Name) ||
		slices.ContainsFunc(CertificateVolumes(""), func(v CertificateVolume) bool { return v.hiddenBy(place) })
}

// The kubelet links the files through entries that begin with two dots.
func (v CertificateVolume) hiddenBy(place string) bool {
	below, inside := strings.CutPrefix(place, v.Path+"/")
	file, _, _ := strings.Cut(below, "/")
	return place == v.Path || inside && (strings.HasPrefix(file, "..") ||
		slices.ContainsFunc(v.Volume.Secret.Items, func(item corev1.KeyToPath) bool { return item.Path == file }))
}

// With certificates configured as "none", the manager writes no caBundle, and the annotation is valid.
func (c Config) injects(annotation string) bool {
	return c.Annotations[wellknown.AnnotationCertificateProvider] != string(managerv1alpha1.ProviderNone) && asksForInjection(annotation)
}

func asksForInjection(annotation string) bool {
	return strings.HasPrefix(annotation, "cert-manager.io/inject-") || strings.HasSuffix(annotation, "openshift.io/inject-cabundle")
}

// CertificateVolume is a volume with the serving certificate and its mount path.
type CertificateVolume struct {
	Volume corev1.Volume
	Path   string
}

// CertificateVolumes returns the volumes for both default paths of server libraries.
func CertificateVolumes(secretName string) []CertificateVolume {
	return []CertificateVolume{
		{secretVolume(wellknown.VolumeAPIServiceCert, secretName, "apiserver.crt", "apiserver.key"), wellknown.MountAPIServiceCert},
		{secretVolume(wellknown.VolumeWebhookCert, secretName, corev1.TLSCertKey, corev1.TLSPrivateKeyKey), wellknown.MountWebhookCert},
	}
}

// secretVolume returns a volume with the serving certificate, its key and its CA.
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
