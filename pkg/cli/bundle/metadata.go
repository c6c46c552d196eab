package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"
)

// The lists from which catalogs read dependencies and properties. Each has its own file with its name.
const (
	dependencies = "dependencies"
	properties   = "properties"
)

type entry struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// readMetadata never prevents an installation: the commands do not resolve dependencies.
func (r *reader) readMetadata() {
	for _, list := range []string{dependencies, properties} {
		file := metadataFolder + "/" + list + ".yaml"
		text, there := r.files[file]
		if !there {
			continue
		}
		o := &Object{File: file, text: text, firstLine: 1}
		constraints := 0
		for i, e := range r.readList(o, list) {
			if e.Type == "olm.constraint" {
				constraints += len(e.Value)
			}
			if constraints > maxConstraints {
				r.addFieldProblem(BrokenEntry, o, fmt.Sprintf("%s[%d]", list, i), fmt.Sprintf("is not read: the constraints of the file have more than %d KiB", maxConstraints>>10), "write fewer or shorter ones")
				break
			}
			for _, f := range faults(list, e) {
				r.addFieldProblem(BrokenEntry, o, fmt.Sprintf("%s[%d]%s", list, i, f.path), f.what, f.remedy)
			}
		}
	}
}

func (r *reader) readList(o *Object, list string) []entry {
	content, ok := r.toJSON(BrokenMetadata, o.File, document{text: o.text, line: o.firstLine})
	if !ok {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(content, &fields) != nil || fields[list] == nil {
		r.addFieldProblem(BrokenMetadata, o, "", fmt.Sprintf("has no list %s, which is all that catalogs read of it", list), "write it, each item with a type and a value")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != list {
			r.addFieldProblem(UnknownField, o, "["+key+"]", "is nothing that OLM reads: all stands below "+list, "correct or remove it")
		}
	}
	if fields[list] == nil {
		return nil
	}
	var entries []entry
	unknown, err := strictjson.UnmarshalStrict(fields[list], &entries, strictjson.DisallowUnknownFields)
	for _, u := range unknown {
		r.addFieldProblem(UnknownField, o, list+fieldPath(u), "is nothing that OLM reads: an item has a type and a value", "correct or remove it")
	}
	if err != nil {
		r.addFieldProblem(BrokenMetadata, o, list, fmt.Sprintf("is no list of items with a type and a value each, and catalogs are built without it: %s", decodingError(err)), "write one")
		return nil
	}
	return entries
}

func decodingError(err error) string { return strings.TrimPrefix(err.Error(), "json: ") }
