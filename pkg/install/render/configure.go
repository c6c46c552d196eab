package render

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// As in OLM v0, init containers are not changed, and config.selector is ignored.
func configure(d *appsv1.Deployment, config subscriptions.Config) {
	config.SubscriptionConfig = *config.DeepCopy()
	pod := &d.Spec.Template
	d.Annotations = labels.Merge(config.Propagated(), d.Annotations)
	pod.Annotations = labels.Merge(config.ForPods(), pod.Annotations)
	for _, volume := range config.Volumes {
		if !subscriptions.IsCertificateVolume(volume.Name) {
			pod.Spec.Volumes = replaceOrAppend(pod.Spec.Volumes, volume, func(v corev1.Volume) bool { return v.Name == volume.Name })
		}
	}
	pod.Spec.Tolerations = appendNew(pod.Spec.Tolerations, config.Tolerations)
	if config.NodeSelector != nil {
		pod.Spec.NodeSelector = config.NodeSelector
	}
	pod.Spec.Affinity = affinityOf(pod.Spec.Affinity, config.Affinity)
	for i := range pod.Spec.Containers {
		configureContainer(&pod.Spec.Containers[i], config)
	}
}

func configureContainer(container *corev1.Container, config subscriptions.Config) {
	for _, variable := range config.Env {
		container.Env = replaceOrAppend(container.Env, variable, func(e corev1.EnvVar) bool { return e.Name == variable.Name })
	}
	container.EnvFrom = appendNew(container.EnvFrom, config.EnvFrom)
	for _, mount := range config.VolumeMounts {
		if !subscriptions.HidesCertificate(mount) {
			container.VolumeMounts = replaceOrAppend(container.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.Name == mount.Name })
		}
	}
	if config.Resources != nil {
		container.Resources = *config.Resources
	}
}

func appendNew[T any](items, more []T) []T {
	for _, item := range more {
		if !slices.ContainsFunc(items, func(other T) bool { return equality.Semantic.DeepEqual(item, other) }) {
			items = append(items, item)
		}
	}
	return items
}

// An empty part removes the part of the author. An empty affinity removes all parts.
func affinityOf(author, admin *corev1.Affinity) *corev1.Affinity {
	switch {
	case admin == nil:
		return author
	case *admin == corev1.Affinity{}:
		return nil
	case author == nil:
		author = &corev1.Affinity{}
	}
	replaced := corev1.Affinity{
		NodeAffinity:    partOf(author.NodeAffinity, admin.NodeAffinity),
		PodAffinity:     partOf(author.PodAffinity, admin.PodAffinity),
		PodAntiAffinity: partOf(author.PodAntiAffinity, admin.PodAntiAffinity),
	}
	if replaced == (corev1.Affinity{}) {
		return nil
	}
	return &replaced
}

func partOf[T any](author, admin *T) *T {
	switch {
	case admin == nil:
		return author
	case equality.Semantic.DeepEqual(*admin, *new(T)):
		return nil
	default:
		return admin
	}
}
