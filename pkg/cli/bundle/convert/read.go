package convert

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// Read parses manifests, by the names of their files. The findings are fields that are read differently from how they
// are written.
func Read(files map[string][]byte) ([]*bundle.Object, []Finding, error) {
	files = decoded(files)
	if err := errors.Join(refuseBundle(files), refuseSources(files)); err != nil {
		return nil, nil, err
	}
	objects, problems := bundle.ReadManifests(files)
	fatal := lists.Filter(problems, func(p bundle.Problem) bool { return p.Kind.Fatal() || isJoined(p) })
	if len(fatal) > 0 {
		if err := unresolved(files, fatal); err != nil {
			return nil, nil, err
		}
		return nil, nil, errors.Join(lists.Map(fatal, message)...)
	}
	findings := lists.Map(problems, func(p bundle.Problem) Finding {
		return Finding{Level: Warning, Object: fmt.Sprintf("%s:%d", p.File, p.Line), Path: p.Path, What: p.Detail, Remedy: p.Remedy}
	})
	return objects, findings, nil
}

func decoded(files map[string][]byte) map[string][]byte {
	texts := make(map[string][]byte, len(files))
	for name, text := range files {
		texts[name] = bundle.Decoded(text)
	}
	return texts
}

// annotationOfBundles is in metadata/annotations.yaml of every bundle, which is no Kubernetes object.
const annotationOfBundles = "operators.operatorframework.io.bundle."

func refuseBundle(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "annotations.yaml" && bytes.Contains(files[name], []byte(annotationOfBundles)) {
			return fmt.Errorf("%s: the input is a bundle already: check it with bundle validate, or pass the manifests that it was generated from", name)
		}
	}
	return nil
}

// sourcesOfKustomize are the names by which kustomize finds its file in a directory.
var sourcesOfKustomize = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func refuseSources(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if slices.Contains(sourcesOfKustomize, path.Base(name)) {
			return fmt.Errorf("%s: the input is a source of kustomize: %s", name, render)
		}
	}
	return nil
}

// isJoined reports whether a document has several objects, because a separator is missing between them. Only the last one
// would be read.
func isJoined(p bundle.Problem) bool {
	return p.Kind == bundle.RepeatedField && strings.Contains(p.Detail, `"apiVersion"`)
}

// message is the error of a problem.
func message(p bundle.Problem) error {
	if isJoined(p) {
		p.Detail, p.Remedy = "two objects are in one document", "write a line --- between them"
	}
	return errors.New(p.String())
}

const opening = "{{"

const render = "bundle convert reads rendered manifests: run helm template or kustomize build, and pass the output"

// unresolved returns an error if files that cannot be parsed have templates. Other files may have them in texts.
func unresolved(files map[string][]byte, problems []bundle.Problem) error {
	broken := map[string]bool{}
	for _, p := range problems {
		broken[p.File] = broken[p.File] || p.Kind == bundle.BrokenFile || p.Kind == bundle.NotAnObject || p.Kind == bundle.Undecodable
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !broken[name] {
			continue
		}
		line := 0
		for text := range bytes.Lines(files[name]) {
			line++
			if bytes.Contains(text, []byte(opening)) {
				return fmt.Errorf("%s:%d: the input has a template (%q) that is not resolved: %s", name, line, opening, render)
			}
		}
	}
	return nil
}

// checkTemplates refuses templates in names and images. Other fields may have templates for the operator.
func checkTemplates(objects []*bundle.Object) error {
	for _, o := range objects {
		for field, value := range map[string]string{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()} {
			if strings.Contains(value, opening) {
				return templateError(o, field, value)
			}
		}
		for _, field := range []string{"containers", "initContainers"} {
			if err := checkImages(o, field); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkImages(o *bundle.Object, field string) error {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", field)
	for i, container := range containers {
		fields, _ := container.(map[string]any)
		if image, _ := fields["image"].(string); strings.Contains(image, opening) {
			return templateError(o, fmt.Sprintf("spec.template.spec.%s[%d].image", field, i), image)
		}
	}
	return nil
}

func templateError(o *bundle.Object, field, value string) error {
	return fmt.Errorf("%s:%d: %s %q has a template that is not resolved: %s", o.File, o.Line(field), field, value, render)
}
