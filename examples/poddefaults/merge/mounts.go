package merge

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mergeVolumeMounts merges by name, and refuses two mounts with one path: the second would hide the first.
func (m *merger) mergeVolumeMounts(where place, existing []corev1.VolumeMount) []corev1.VolumeMount {
	merged := existing
	var mounts []held[corev1.VolumeMount]
	for _, mount := range existing {
		mounts = append(mounts, held[corev1.VolumeMount]{mount, thePod})
	}
	for _, d := range m.podDefaults {
		for _, mount := range d.Spec.VolumeMounts {
			conflict := func(key, problem string) {
				m.conflict(Conflict{PodDefault: d.Name, Field: "volumeMounts", Key: key, Problem: problem})
			}
			named := find(mounts, func(other corev1.VolumeMount) bool { return other.Name == mount.Name })
			onPath := find(mounts, func(other corev1.VolumeMount) bool { return path.Clean(other.MountPath) == path.Clean(mount.MountPath) })
			switch {
			case slices.ContainsFunc(named, func(h held[corev1.VolumeMount]) bool { return isEqual(h.item, mount) }):
			case len(named) > 0:
				conflict(mount.Name, differs(mount, named[0].item, named[0].owner.at(where)))
			case len(onPath) > 0:
				conflict("mount path "+mount.MountPath, fmt.Sprintf("volume %q would be mounted over volume %q of %s",
					mount.Name, onPath[0].item.Name, onPath[0].owner.at(where)))
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
