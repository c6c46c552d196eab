package labelling

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Difference is a label that a PersistentVolume has with another value than the one that
// is known of its volume. The author of the PersistentVolume has the last word.
type Difference struct {
	Key, Has, Known string
}

// String says both values.
func (d Difference) String() string {
	return fmt.Sprintf("label %s stays %q, though the volume's is %q", d.Key, d.Has, d.Known)
}

// Compare returns the known labels that a PersistentVolume lacks, and the ones that
// it has with another value.
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
