package bundle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MaxSize is how many bytes ReadManifests reads.
const MaxSize = maxSize

// ReadManifests parses manifests that are not a bundle, within the limits of a bundle. A file has any number of objects
// and lists of objects. Its name is in the messages.
func ReadManifests(files map[string][]byte) ([]*Object, []Problem) {
	r := newReader(context.Background(), "")
	r.files, r.lists = files, true
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		r.Size += int64(len(files[name]))
	}
	if r.Size > maxSize {
		r.addProblem(TooBig, "", 0, fmt.Sprintf("the input has more than %d MiB", maxSize>>20), "leave out the objects that do not belong to the operator")
		return nil, r.Problems
	}
	for _, name := range names {
		r.parseDocuments(name)
	}
	r.limitGrantedRules()
	return r.Objects, r.Problems
}

// addItems adds the objects of a list. They have the line of the list.
func (r *reader) addItems(file string, d document, items any) {
	list, _ := items.([]any)
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			r.addProblem(NotAnObject, file, d.line, "is a list with an item that is no Kubernetes object", "remove the item")
			continue
		}
		if r.documents++; r.documents > maxDocuments {
			r.addProblem(TooBig, file, d.line, fmt.Sprintf("is not read from here on: the input has more than %d objects", maxDocuments), "leave out the objects that do not belong to the operator")
			return
		}
		r.addObject(&Object{Unstructured: &unstructured.Unstructured{Object: fields}, File: file, firstLine: d.line})
	}
}
