package bundle

import (
	"maps"
	"slices"
)

// appliedMetadata are the fields of metadata that objects are applied with. creationTimestamp is among them
// because generators write it; it is removed later.
var appliedMetadata = []string{"name", "namespace", "labels", "annotations", "creationTimestamp"}

// dropMetadata removes and reports the other fields of metadata: an author cannot know which controller of a
// cluster takes a finalizer away, or which uid an owner has there. With an unknown owner the garbage collector
// deletes the object.
func (b *Bundle) dropMetadata(o *Object) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(metadata)) {
		if slices.Contains(appliedMetadata, field) {
			continue
		}
		if metadata[field] != nil {
			b.problemAt(UnknownField, o, keyPath{"metadata", field}.String(), "is not taken from a bundle: the cluster that an object is in sets it", "remove it")
		}
		delete(metadata, field)
	}
}
