package table

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
)

// timeless returns the pod without what depends on when the API server's own plugins ran.
func timeless(pod *corev1.Pod) *corev1.Pod {
	same := &corev1.Pod{Spec: *pod.Spec.DeepCopy()}
	same.Labels = pod.Labels
	for key, value := range pod.Annotations {
		if !strings.HasPrefix(key, merge.AppliedAnnotation("")) {
			metav1.SetMetaDataAnnotation(&same.ObjectMeta, key, value)
		}
	}
	// The API server appends these two to the pod's tolerations.
	same.Spec.Tolerations = slices.DeleteFunc(same.Spec.Tolerations, func(t corev1.Toleration) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/")
	})
	moveTokenLast(&same.Spec)
	return same
}

// moveTokenLast also gives the token volume a fixed name.
func moveTokenLast(spec *corev1.PodSpec) {
	isToken := func(name *string) bool {
		is := strings.HasPrefix(*name, "kube-api-access-")
		if is {
			*name = "kube-api-access-any"
		}
		return is
	}
	spec.Volumes = last(spec.Volumes, func(v *corev1.Volume) bool { return isToken(&v.Name) })
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = last(containers[i].VolumeMounts, func(m *corev1.VolumeMount) bool { return isToken(&m.Name) })
		}
	}
}

// last moves matching elements to the end.
func last[T any](all []T, matches func(*T) bool) []T {
	var others, matching []T
	for _, element := range all {
		if matches(&element) {
			matching = append(matching, element)
		} else {
			others = append(others, element)
		}
	}
	return append(others, matching...)
}

// appliedTo returns the resourceVersions of the pod's PodDefaults by name.
func appliedTo(pod *corev1.Pod) map[string]string {
	applied := map[string]string{}
	for key, value := range pod.Annotations {
		if name, ok := strings.CutPrefix(key, merge.AppliedAnnotation("")); ok {
			applied[name] = value
		}
	}
	return applied
}
