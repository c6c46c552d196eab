package merge

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// setServiceAccount has the last PodDefault that sets a field win.
func (m *merger) setServiceAccount() {
	spec := &m.pod.Spec
	account, automount := spec.ServiceAccountName, spec.AutomountServiceAccountToken
	for _, d := range m.podDefaults {
		if d.Spec.ServiceAccountName != "" {
			account = d.Spec.ServiceAccountName
		}
		if d.Spec.AutomountServiceAccountToken != nil {
			automount = d.Spec.AutomountServiceAccountToken
		}
	}
	if account == spec.ServiceAccountName && isEqual(automount, spec.AutomountServiceAccountToken) {
		return
	}
	spec.ServiceAccountName, spec.AutomountServiceAccountToken = account, automount
	// The API server keeps a copy in the field that serviceAccountName replaced.
	spec.DeprecatedServiceAccount = account
	unmountToken(spec)
}

// tokenVolumePrefix begins the names of the volumes by which the API server mounts
// tokens of a pod's ServiceAccount.
const tokenVolumePrefix = "kube-api-access-"

// unmountToken takes back the token that the API server has mounted by the time that it
// calls webhooks. It runs again after a webhook has changed the pod, and mounts
// one if the account and the field that the pod has then ask for it; but it never takes
// one away itself.
func unmountToken(spec *corev1.PodSpec) {
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		return strings.HasPrefix(v.Name, tokenVolumePrefix)
	})
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = withoutToken(containers[i].VolumeMounts)
		}
	}
}

func withoutToken(mounts []corev1.VolumeMount) []corev1.VolumeMount {
	return slices.DeleteFunc(slices.Clone(mounts), func(m corev1.VolumeMount) bool {
		return strings.HasPrefix(m.Name, tokenVolumePrefix)
	})
}
