package merge

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// setServiceAccount sets the fields of the last PodDefault that has them.
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
	// The deprecated field must have the same value.
	spec.DeprecatedServiceAccount = account
	unmountToken(spec)
}

const tokenVolumePrefix = "kube-api-access-"

// unmountToken removes the API server's token mount, which it adds again if needed, but never removes.
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
