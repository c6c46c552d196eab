package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// WriteOutListDefaults writes the defaults of lists that are compared as a whole: a missing default would differ in every
// reconciliation. This concerns volumes, and ports and variables with duplicate names, which the API server accepts.
func WriteOutListDefaults(pod *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			writeOutPortDefaults(containers[i].Ports)
			writeOutVariableDefaults(containers[i].Env)
		}
	}
	for _, volume := range pod.Volumes {
		if volume.DownwardAPI != nil {
			writeOutFileDefaults(volume.DownwardAPI.Items)
		}
		if volume.Projected != nil {
			writeOutProjectionDefaults(volume.Projected.Sources)
		}
	}
}

func writeOutPortDefaults(ports []corev1.ContainerPort) {
	for i := range ports {
		ports[i].Protocol = cmp.Or(ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func writeOutVariableDefaults(variables []corev1.EnvVar) {
	for _, variable := range variables {
		source := variable.ValueFrom
		if source == nil {
			continue
		}
		writeOutFieldDefaults(source.FieldRef)
		if source.FileKeyRef != nil {
			source.FileKeyRef.Optional = defaulted(source.FileKeyRef.Optional, false)
		}
	}
}

func writeOutProjectionDefaults(sources []corev1.VolumeProjection) {
	const anHour = 3600
	for _, source := range sources {
		if token := source.ServiceAccountToken; token != nil {
			token.ExpirationSeconds = defaulted(token.ExpirationSeconds, anHour)
		}
		if source.DownwardAPI != nil {
			writeOutFileDefaults(source.DownwardAPI.Items)
		}
	}
}

func writeOutFileDefaults(files []corev1.DownwardAPIVolumeFile) {
	for _, file := range files {
		writeOutFieldDefaults(file.FieldRef)
	}
}

func writeOutFieldDefaults(field *corev1.ObjectFieldSelector) {
	if field != nil {
		field.APIVersion = cmp.Or(field.APIVersion, "v1")
	}
}
