package labelling

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Difference is a label whose value differs from the provider's. The PersistentVolume's value applies.
type Difference struct {
	Key, Has, Known string
}

func (d Difference) String() string {
	return fmt.Sprintf("label %s stays %q, though the volume's is %q", d.Key, d.Has, d.Known)
}

// Compare returns the labels that a PersistentVolume lacks, and those with another value.
func Compare(pv *corev1.PersistentVolume, known map[string]string) (missing map[string]string, differing []Difference) {
	missing = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		has, isThere := pv.Labels[key]
		switch {
		case !isThere:
			missing[key] = known[key]
		case has != known[key]:
			differing = append(differing, Difference{Key: key, Has: has, Known: known[key]})
		}
	}
	return missing, differing
}
