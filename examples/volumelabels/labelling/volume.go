// Package labelling decides which labels a PersistentVolume lacks. It is pure.
package labelling

import (
	"fmt"

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
