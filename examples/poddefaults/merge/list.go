package merge

import (
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

// list merges items that have a key. An equal item is ignored, and another item with the key is a conflict.
type list[T any] struct {
	field string
	of    func(*v1alpha1.PodDefaultSpec) []T
	key   func(T) string
	// complete returns a copy with the defaults of the API server, for the comparison with an item of the pod.
	complete func(T) T
}

var (
	env = list[corev1.EnvVar]{
		"env",
		func(s *v1alpha1.PodDefaultSpec) []corev1.EnvVar { return s.Env },
		func(v corev1.EnvVar) string { return v.Name },
		completeEnvVar,
	}
	volumes = list[corev1.Volume]{
		"volumes",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Volume { return s.Volumes },
		func(v corev1.Volume) string { return v.Name },
		completeVolume,
	}
	tolerations = list[corev1.Toleration]{
		"tolerations",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Toleration { return s.Tolerations },
		func(t corev1.Toleration) string { return t.Key },
		asItIs[corev1.Toleration],
	}
	imagePullSecrets = list[corev1.LocalObjectReference]{
		"imagePullSecrets",
		func(s *v1alpha1.PodDefaultSpec) []corev1.LocalObjectReference { return s.ImagePullSecrets },
		func(r corev1.LocalObjectReference) string { return r.Name },
		asItIs[corev1.LocalObjectReference],
	}
	initContainers = list[corev1.Container]{
		"initContainers",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Container { return s.InitContainers },
		func(c corev1.Container) string { return c.Name },
		completeContainer,
	}
	sidecars = list[corev1.Container]{
		"sidecars",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Container { return s.Sidecars },
		func(c corev1.Container) string { return c.Name },
		completeContainer,
	}
)

type held[T any] struct {
	item  T
	owner owner
}

// merge ignores an item that is equal to any item of the pod with its key.
func (l list[T]) merge(m *merger, container string, existing []T) []T {
	merged := existing
	byKey := map[string][]held[T]{}
	for _, item := range existing {
		byKey[l.key(item)] = append(byKey[l.key(item)], held[T]{l.complete(item), thePod})
	}
	for _, d := range m.podDefaults {
		for _, item := range l.of(&d.Spec) {
			key, desired := l.key(item), l.complete(item)
			if len(byKey[key]) == 0 {
				merged = append(merged, item)
				byKey[key] = []held[T]{{desired, owner(d.Name)}}
				continue
			}
			if slices.ContainsFunc(byKey[key], func(h held[T]) bool { return isEqual(h.item, desired) }) {
				continue
			}
			other := byKey[key][0]
			m.conflict(d.Name, l.field, key, differs(desired, other.item, other.owner.at(container)))
		}
	}
	return merged
}

func asItIs[T any](item T) T { return item }

func (m *merger) mergeMap(field string, existing map[string]string, of func(*v1alpha1.PodDefaultSpec) map[string]string) map[string]string {
	merged, owners := maps.Clone(existing), map[string]owner{}
	for _, d := range m.podDefaults {
		desired := of(&d.Spec)
		if merged == nil && len(desired) > 0 {
			merged = map[string]string{}
		}
		for _, key := range slices.Sorted(maps.Keys(desired)) {
			value, isThere := merged[key]
			switch {
			case !isThere:
				merged[key], owners[key] = desired[key], owner(d.Name)
			case value != desired[key]:
				m.conflict(d.Name, field, key, fmt.Sprintf("%q does not match %q of %s", desired[key], value, owners[key].at(inPod)))
			}
		}
	}
	return merged
}

// mergeVolumeMounts merges by name, and refuses two mounts with one path: the second would hide the first.
func (m *merger) mergeVolumeMounts(container string, existing []corev1.VolumeMount) []corev1.VolumeMount {
	const field = "volumeMounts"
	merged := existing
	var mounts []held[corev1.VolumeMount]
	for _, mount := range existing {
		mounts = append(mounts, held[corev1.VolumeMount]{mount, thePod})
	}
	for _, d := range m.podDefaults {
		for _, mount := range d.Spec.VolumeMounts {
			named := find(mounts, func(other corev1.VolumeMount) bool { return other.Name == mount.Name })
			onPath := find(mounts, func(other corev1.VolumeMount) bool { return path.Clean(other.MountPath) == path.Clean(mount.MountPath) })
			switch {
			case slices.ContainsFunc(named, func(h held[corev1.VolumeMount]) bool { return isEqual(h.item, mount) }):
			case len(named) > 0:
				m.conflict(d.Name, field, mount.Name, differs(mount, named[0].item, named[0].owner.at(container)))
			case len(onPath) > 0:
				m.conflict(d.Name, field, "mount path "+mount.MountPath, fmt.Sprintf("volume %q would be mounted over volume %q of %s",
					mount.Name, onPath[0].item.Name, onPath[0].owner.at(container)))
			default:
				merged = append(merged, mount)
				mounts = append(mounts, held[corev1.VolumeMount]{mount, owner(d.Name)})
			}
		}
	}
	return merged
}

func find[T any](all []held[T], matches func(T) bool) []held[T] {
	var found []held[T]
	for _, h := range all {
		if matches(h.item) {
			found = append(found, h)
		}
	}
	return found
}
