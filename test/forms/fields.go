// Package forms writes the table that shows in which fields the forms of the objects of an operator differ: that of
// olm-operator, and those of the manager during a takeover.
package forms

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignored are fields that the API server sets at each write, and what no client of these objects wrote.
var ignored = []string{
	"metadata.managedFields", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "status", "apiVersion", "kind",
	"metadata.annotations.deployment.kubernetes.io/revision",
}

// fieldsOf returns the values of the leaves of an object, by their paths. Items of lists are named by what identifies them.
func fieldsOf(o *unstructured.Unstructured) map[string]string {
	leaves := map[string]string{}
	collect("", o.Object, leaves)
	return leaves
}

func collect(path string, value any, leaves map[string]string) {
	if slices.Contains(ignored, path) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if isOwner(value) {
			break
		}
		for key, field := range value {
			collect(strings.TrimPrefix(path+"."+key, "."), field, leaves)
		}
		return
	case []any:
		if names, named := namesOf(value); named {
			for i, item := range value {
				collect(path+"["+names[i]+"]", item, leaves)
			}
			return
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read as JSON
	}
	leaves[path] = string(text)
}

// isOwner reports whether a value is an owner reference. It is one value: most of its fields never change alone.
func isOwner(fields map[string]any) bool { return fields["kind"] != nil && fields["uid"] != nil }

// identifying are the fields that name an item of a list.
var identifying = []string{"name", "key", "kind"}

// namesOf returns a name of each item; named is false if an item has none, or two have the same.
func namesOf(items []any) (names []string, named bool) {
	for _, item := range items {
		fields, is := item.(map[string]any)
		if !is {
			return nil, false
		}
		i := slices.IndexFunc(identifying, func(field string) bool { return fields[field] != nil })
		if i < 0 {
			return nil, false
		}
		name := fmt.Sprint(fields[identifying[i]])
		if isOwner(fields) {
			name = fmt.Sprint(fields["kind"])
		}
		names = append(names, name)
	}
	distinct := slices.Clone(names)
	slices.Sort(distinct)
	return names, len(slices.Compact(distinct)) == len(names)
}
