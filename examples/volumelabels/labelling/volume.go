// Package labelling decides which labels a PersistentVolume lacks. It is pure.
package labelling

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Volume is the identity of a volume outside the cluster.
type Volume struct {
	Driver string
	// Handle is the driver's name for the volume.
	Handle string
}

// VolumeOf returns false for a volume that no system outside the cluster can know, such as a path on a node.
func VolumeOf(pv *corev1.PersistentVolume) (Volume, bool) {
	csi := pv.Spec.CSI
	if csi == nil {
		return Volume{}, false
	}
	return Volume{Driver: csi.Driver, Handle: csi.VolumeHandle}, true
}

func (v Volume) String() string { return fmt.Sprintf("volume %q of %s", v.Handle, v.Driver) }

// Compare returns the labels that a PersistentVolume lacks, and a warning for each with another value, which stays.
func Compare(pv *corev1.PersistentVolume, known map[string]string) (missing map[string]string, warnings []string) {
	missing = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		has, isThere := pv.Labels[key]
		switch {
		case !isThere:
			missing[key] = known[key]
		case has != known[key]:
			warnings = append(warnings, fmt.Sprintf("label %s stays %q, though the volume's is %q", key, has, known[key]))
		}
	}
	return missing, warnings
}
