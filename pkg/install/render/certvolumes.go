package render

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// mountCertificate gives every container the serving certificate in both places
// where server libraries look for it. An author's mount in one of those places
// makes way, and so does the author's volume when nothing else mounts it: it
// names the Secret of another certificate tool, which does not exist here, and
// the pod would wait for it for ever.
func mountCertificate(pod *corev1.PodSpec, secretName string) {
	for _, v := range subscriptions.CertificateVolumes(secretName) {
		displaced := mountEverywhere(pod, v)
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(author corev1.Volume) bool {
			return displaced[author.Name] && author.Name != v.Volume.Name && !mounts(pod, author.Name)
		})
		pod.Volumes = replaceOrAppend(pod.Volumes, v.Volume, func(other corev1.Volume) bool { return other.Name == v.Volume.Name })
	}
}

// WithCertificate is an author's pod as it runs behind a webhook.
func WithCertificate(pod corev1.PodSpec, secretName string) corev1.PodSpec {
	mounted := pod.DeepCopy()
	mountCertificate(mounted, secretName)
	return *mounted
}

// DisplacedVolumes are the author's volumes of a pod, by name, that make way for the serving certificate.
func DisplacedVolumes(pod corev1.PodSpec) []string {
	mounted := WithCertificate(pod, "")
	var displaced []string
	for _, v := range pod.Volumes {
		if !slices.ContainsFunc(mounted.Volumes, func(m corev1.Volume) bool { return equality.Semantic.DeepEqual(m, v) }) {
			displaced = append(displaced, v.Name)
		}
	}
	return displaced
}

// mountEverywhere mounts the volume in every container, and in those init
// containers that mount something in its place. It tells which volumes had to
// make way.
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
