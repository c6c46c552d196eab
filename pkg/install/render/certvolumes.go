package render

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// mountCertificate uses both default paths of server libraries, in place of an author's mounts. It removes
// the author's volume if nothing else mounts it: its Secret belongs to another certificate tool and does not
// exist, so the pod would not start.
func mountCertificate(pod *corev1.PodSpec, secretName string) {
	for _, v := range subscriptions.CertificateVolumes(secretName) {
		displaced := mountEverywhere(pod, v)
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(author corev1.Volume) bool {
			return displaced[author.Name] && author.Name != v.Volume.Name && !mounts(pod, author.Name)
		})
		pod.Volumes = replaceOrAppend(pod.Volumes, v.Volume, func(other corev1.Volume) bool { return other.Name == v.Volume.Name })
	}
}

// WithCertificate returns the pod of an author as it runs with a webhook.
func WithCertificate(pod corev1.PodSpec, secretName string) corev1.PodSpec {
	mounted := pod.DeepCopy()
	mountCertificate(mounted, secretName)
	return *mounted
}

// DisplacedVolumes returns the author's volumes that the serving certificate replaces.
func DisplacedVolumes(pod corev1.PodSpec) []string {
	mounted := WithCertificate(pod, "")
	return lists.FilterMap(pod.Volumes, func(v corev1.Volume) (string, bool) {
		return v.Name, !slices.ContainsFunc(mounted.Volumes, func(m corev1.Volume) bool { return equality.Semantic.DeepEqual(m, v) })
	})
}

// mountEverywhere includes init containers with a mount at the path. It returns the replaced volumes.
func mountEverywhere(pod *corev1.PodSpec, v subscriptions.CertificateVolume) (displaced map[string]bool) {
	displaced = map[string]bool{}
	mount := corev1.VolumeMount{Name: v.Volume.Name, MountPath: v.Path}
	inPlace := func(m corev1.VolumeMount) bool {
		if path.Clean(m.MountPath) != v.Path {
			return false
		}
		displaced[m.Name] = true
		return true
	}
	for i := range pod.InitContainers {
		container := &pod.InitContainers[i]
		if slices.ContainsFunc(container.VolumeMounts, inPlace) {
			container.VolumeMounts = replaceOrAppend(container.VolumeMounts, mount, inPlace)
		}
	}
	for i := range pod.Containers {
		container := &pod.Containers[i]
		container.VolumeMounts = replaceOrAppend(container.VolumeMounts, mount, inPlace)
	}
	return displaced
}

func mounts(pod *corev1.PodSpec, volume string) bool {
	uses := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume })
	}
	return slices.ContainsFunc(pod.Containers, uses) || slices.ContainsFunc(pod.InitContainers, uses)
}
