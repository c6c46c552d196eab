package lint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

type reference struct {
	field      string // of the pod's spec
	kind, name string
	optional   bool
}

// references ignores displaced volumes and volumes that no container mounts.
func references(pod corev1.PodSpec, displaced []string) []reference {
	var all []reference
	for i, v := range pod.Volumes {
		if slices.Contains(displaced, v.Name) || !mounted(pod, v.Name) {
			continue
		}
		all = append(all, volumeReferences(fmt.Sprintf("volumes[%d]", i), v)...)
	}
	for _, c := range containersOf(pod) {
		all = append(all, environmentReferences(c)...)
	}
	return all
}

func volumeReferences(field string, v corev1.Volume) []reference {
	switch {
	case v.Secret != nil:
		return []reference{{field, "Secret", v.Secret.SecretName, ptr.Deref(v.Secret.Optional, false)}}
	case v.ConfigMap != nil:
		return []reference{{field, "ConfigMap", v.ConfigMap.Name, ptr.Deref(v.ConfigMap.Optional, false)}}
	case v.Projected == nil:
		return nil
	}
	var all []reference
	for i, p := range v.Projected.Sources {
		within := fmt.Sprintf("%s.projected.sources[%d]", field, i)
		if p.Secret != nil {
			all = append(all, reference{within, "Secret", p.Secret.Name, ptr.Deref(p.Secret.Optional, false)})
		}
		if p.ConfigMap != nil {
			all = append(all, reference{within, "ConfigMap", p.ConfigMap.Name, ptr.Deref(p.ConfigMap.Optional, false)})
		}
	}
	return all
}

func mounted(pod corev1.PodSpec, volume string) bool {
	return slices.ContainsFunc(containersOf(pod), func(c container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
	})
}

func environmentReferences(c container) []reference {
	var all []reference
	for i, e := range c.Env {
		field := fmt.Sprintf("%s.env[%d]", c.field, i)
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			all = append(all, reference{field, "Secret", from.SecretKeyRef.Name, ptr.Deref(from.SecretKeyRef.Optional, false)})
		} else if from != nil && from.ConfigMapKeyRef != nil {
			all = append(all, reference{field, "ConfigMap", from.ConfigMapKeyRef.Name, ptr.Deref(from.ConfigMapKeyRef.Optional, false)})
		}
	}
	for i, e := range c.EnvFrom {
		field := fmt.Sprintf("%s.envFrom[%d]", c.field, i)
		if e.SecretRef != nil {
			all = append(all, reference{field, "Secret", e.SecretRef.Name, ptr.Deref(e.SecretRef.Optional, false)})
		} else if e.ConfigMapRef != nil {
			all = append(all, reference{field, "ConfigMap", e.ConfigMapRef.Name, ptr.Deref(e.ConfigMapRef.Optional, false)})
		}
	}
	return all
}
