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

// Refusals are the parts of the config that are not followed, because they would take
// the webhooks' certificates from the manager or make no sense, each with the way out.
// All other parts are: a slip in a Subscription does not stop the operator.
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
	for _, name := range c.disabledInVain(csv) {
		refuse("spec.config.annotations, %s, names %s", wellknown.AnnotationDisabledWebhooks, name)
	}
	return refusals
}

func IsCertificateVolume(name string) bool {
	return name == wellknown.VolumeWebhookCert || name == wellknown.VolumeAPIServiceCert
}

// overCertificate is true of mounts of the certificate's volumes, in their places, or over
// one of their files. A mount of a directory above hides nothing: Kubernetes mounts the
// certificate into it.
func HidesCertificate(mount corev1.VolumeMount) bool {
	place := path.Clean(mount.MountPath)
	return IsCertificateVolume(mount.Name) ||
		slices.ContainsFunc(CertificateVolumes(""), func(v CertificateVolume) bool { return v.hiddenBy(place) })
}

// hiddenBy tells whether a mount in this place hides the volume or a file of it, of which
// those that begin with two dots are the kubelet's: the others lead to them.
func (v CertificateVolume) hiddenBy(place string) bool {
	below, inside := strings.CutPrefix(place, v.Path+"/")
	file, _, _ := strings.Cut(below, "/")
	return place == v.Path || inside && (strings.HasPrefix(file, "..") ||
		slices.ContainsFunc(v.Volume.Secret.Items, func(item corev1.KeyToPath) bool { return item.Path == file }))
}

// injects tells the annotations by which another controller is asked to write a
// caBundle that the manager writes. Under "none" it writes none, and whoever is asked to may.
func (c Config) injects(annotation string) bool {
	if provider, _ := c.Instruction(wellknown.AnnotationCertificateProvider); provider == string(managerv1alpha1.ProviderNone) {
		return false
	}
	return asksForInjection(annotation)
}

func asksForInjection(annotation string) bool {
	return strings.HasPrefix(annotation, "cert-manager.io/inject-") || strings.HasSuffix(annotation, "openshift.io/inject-cabundle")
}
