// Package labelling says which labels a PersistentVolume lacks, given what is known of
// the volume behind it. It is pure: values in, values out.
package labelling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Volume is the identity of a volume outside the cluster.
type Volume struct {
	// Driver is the name of the CSI driver that the volume belongs to.
	Driver string
	// Handle is the driver's own name for the volume.
	Handle string
}

// VolumeOf returns the volume behind a PersistentVolume; false if it has none that
// systems outside the cluster can know, such as a path on a node.
func VolumeOf(pv *corev1.PersistentVolume) (Volume, bool) {
	csi := pv.Spec.CSI
	if csi == nil {
		return Volume{}, false
	}
	return Volume{Driver: csi.Driver, Handle: csi.VolumeHandle}, true
}

// String is the volume as people read it.
func (v Volume) String() string {
	return fmt.Sprintf("volume %q of %s", v.Handle, v.Driver)
}
