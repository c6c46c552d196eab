package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const annotationsFile = metadataFolder + "/annotations.yaml"

const (
	annotationPrefix         = "operators.operatorframework.io.bundle."
	manifestsAnnotation      = annotationPrefix + "manifests.v1"
	packageAnnotation        = annotationPrefix + "package.v1"
	channelsAnnotation       = annotationPrefix + "channels.v1"
	defaultChannelAnnotation = annotationPrefix + "channel.default.v1"
)

var bundleAnnotations = []string{annotationPrefix + "mediatype.v1", manifestsAnnotation, annotationPrefix + "metadata.v1", packageAnnotation, channelsAnnotation, defaultChannelAnnotation}

func (r *reader) readAnnotations() {
	text, ok := r.files[annotationsFile]
	if !ok {
		return
	}
	converted, ok := r.toJSON(BrokenFile, annotationsFile, document{text: text, line: 1})
	if !ok {
		return
	}
	var fields map[string]any
	var content struct {
		Annotations map[string]string `json:"annotations"`
	}
	// This converts other values to strings, as OLM does: true and 1 are often written without quotes.
	err := yaml.Unmarshal(text, &content)
	if err == nil {
		err = strictjson.UnmarshalCaseSensitivePreserveInts(converted, &fields)
	}
	if err != nil {
		r.addProblem(BrokenFile, annotationsFile, 1, "cannot be read: "+strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: "), "write one mapping, annotations, of texts to texts")
		return
	}
	r.Annotations = content.Annotations
	o := &Object{Unstructured: &unstructured.Unstructured{Object: fields}, File: annotationsFile, text: text, firstLine: 1}
	r.AnnotationsObject = o
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "annotations" {
			r.addFieldProblem(UnknownField, o, "["+key+"]", "is nothing that OLM reads: all stands below annotations", "correct or remove it")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		if strings.HasPrefix(key, annotationPrefix) && !slices.Contains(bundleAnnotations, key) {
			r.addFieldProblem(UnknownField, o, "annotations["+key+"]", "is no annotation of a bundle, and OLM ignores it", "correct or remove it")
		}
	}
}

func (r *reader) checkAnnotations() {
	if r.has(NotABundle, "") || r.has(BrokenFile, annotationsFile) {
		return
	}
	if _, ok := r.files[annotationsFile]; !ok {
		r.addProblem(NoAnnotation, annotationsFile, 0, "is missing", fmt.Sprintf("write it, with the annotations %s and %s", packageAnnotation, channelsAnnotation))
		return
	}
	missing := func(annotation string) {
		r.addProblem(NoAnnotation, annotationsFile, 1, fmt.Sprintf("has no annotation %s, by which a catalog places the bundle", annotation), "add it")
	}
	if r.Package() == "" {
		missing(packageAnnotation)
	}
	if len(r.Channels()) == 0 {
		missing(channelsAnnotation)
	}
}

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
