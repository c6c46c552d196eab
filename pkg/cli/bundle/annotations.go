package bundle

import (
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
	mediaTypeAnnotation      = annotationPrefix + "mediatype.v1"
	manifestsAnnotation      = annotationPrefix + "manifests.v1"
	metadataAnnotation       = annotationPrefix + "metadata.v1"
	packageAnnotation        = annotationPrefix + "package.v1"
	channelsAnnotation       = annotationPrefix + "channels.v1"
	defaultChannelAnnotation = annotationPrefix + "channel.default.v1"
)

var bundleAnnotations = []string{mediaTypeAnnotation, manifestsAnnotation, metadataAnnotation, packageAnnotation, channelsAnnotation, defaultChannelAnnotation}

func (r *reader) readAnnotations() {
	text, ok := r.files[annotationsFile]
	if !ok {
		return
	}
	d := document{text: text, line: 1}
	json, ok := r.toJSON(BrokenFile, annotationsFile, d)
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
		err = strictjson.UnmarshalCaseSensitivePreserveInts(json, &fields)
	}
	if err != nil {
		r.addProblem(BrokenFile, annotationsFile, 1, "cannot be read: "+strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: "), "write one mapping, annotations, of texts to texts")
		return
	}
	r.Annotations = content.Annotations
	o := &Object{Unstructured: &unstructured.Unstructured{Object: fields}, File: annotationsFile, text: d.text, firstLine: d.line}
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
