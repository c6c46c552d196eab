package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// configureAsOLM applies the config of a Subscription as olm-operator does: also its annotations that the manager reads, and
// also where a volume replaces that of the serving certificate.
func configureAsOLM(d *appsv1.Deployment, config subscriptions.Config) {
	config.SubscriptionConfig = *config.DeepCopy()
	pods := &d.Spec.Template
	for i := range pods.Spec.Containers {
		container := &pods.Spec.Containers[i]
		for _, variable := range config.Env {
			container.Env = replaceOrAppend(container.Env, variable, func(e corev1.EnvVar) bool { return e.Name == variable.Name })
		}
		container.EnvFrom = appendNew(container.EnvFrom, config.EnvFrom)
		for _, mount := range config.VolumeMounts {
			container.VolumeMounts = replaceOrAppend(container.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.Name == mount.Name })
		}
		if config.Resources != nil {
			container.Resources = *config.Resources
		}
	}
	for _, volume := range config.Volumes {
		pods.Spec.Volumes = replaceOrAppend(pods.Spec.Volumes, volume, func(v corev1.Volume) bool { return v.Name == volume.Name })
	}
	pods.Spec.Tolerations = appendNew(pods.Spec.Tolerations, config.Tolerations)
	if config.NodeSelector != nil {
		pods.Spec.NodeSelector = config.NodeSelector
	}
	pods.Spec.Affinity = affinityAsOLM(pods.Spec.Affinity, config.Affinity)
	d.Annotations = labels.Merge(config.Annotations, d.Annotations)
	pods.Annotations = labels.Merge(config.Annotations, pods.Annotations)
}

// affinityAsOLM differs from affinityOf in one case: olm-operator removes the whole affinity of the author for an empty
// podAntiAffinity.
func affinityAsOLM(author, admin *corev1.Affinity) *corev1.Affinity {
	empty := author == nil || equality.Semantic.DeepEqual(*author, corev1.Affinity{})
	if !empty && admin != nil && admin.PodAntiAffinity != nil && equality.Semantic.DeepEqual(*admin.PodAntiAffinity, corev1.PodAntiAffinity{}) {
		return nil
	}
	if empty && admin != nil {
		if equality.Semantic.DeepEqual(*admin, corev1.Affinity{}) {
			return nil
		}
		return admin
	}
	return affinityOf(author, admin)
}
