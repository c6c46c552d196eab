package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

var kinds = func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		scheme.AddToScheme, apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme, apiregistrationv1.AddToScheme,
		operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme, operatorsv2.AddToScheme,
	)
	utilruntime.Must(builder.AddToScheme(kinds))
	return kinds
}()

func (r *reader) parse(file string) {
	before := len(r.Objects)
	r.parseDocuments(file)
	if extra := len(r.Objects) - before; extra > 1 {
		second := r.Objects[before+1]
		r.addProblem(SeveralObjects, file, second.firstLine, fmt.Sprintf("has %d objects, and OLM reads the first alone", extra), "give each a file")
	}
}

func (r *reader) parseDocuments(file string) {
	for _, d := range documents(Decoded(r.files[file])) {
		if r.ended() != nil {
			return
		}
		if r.documents++; r.documents > maxDocuments {
			r.addProblem(TooBig, file, d.line, fmt.Sprintf("is not read from here on: the bundle has more than %d YAML documents", maxDocuments), oneVersion)
			break
		}
		r.parseDocument(file, d)
	}
}

type document struct {
	text []byte
	line int // of the file, where it begins
}

func documents(text []byte) []document {
	all := []document{{line: 1}}
	line, start, end := 1, 0, 0
	for next := range bytes.Lines(text) {
		line++
		end += len(next)
		if separates(next) {
			all = append(all, document{line: line})
			start = end
		} else {
			all[len(all)-1].text = text[start:end]
		}
	}
	return all
}

func separates(line []byte) bool {
	after, found := bytes.CutPrefix(line, []byte("---"))
	after = bytes.TrimSpace(after)
	return found && (len(after) == 0 || after[0] == '#')
}

func (r *reader) parseDocument(file string, d document) {
	content, ok := r.toJSON(BrokenFile, file, d)
	if !ok || string(content) == "null" {
		return // nothing but comments
	}
	var fields map[string]any
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(content, &fields); err != nil {
		r.addProblem(NotAnObject, file, d.line, "is no Kubernetes object: a manifest is a mapping with apiVersion, kind and metadata", "write one, or take the file out of the folder")
		return
	}
	o := &Object{Unstructured: &unstructured.Unstructured{Object: fields}, File: file, text: d.text, firstLine: d.line}
	if items, isList := fields["items"]; isList && strings.HasSuffix(o.GetKind(), "List") {
		if r.lists {
			r.addItems(file, d, items)
			return
		}
		r.addProblem(NotAnObject, file, d.line, "is a list of objects: no check sees the objects in it, and OLM reads one object from each file", "give each object a file")
		return
	}
	r.addObject(o)
}

func (r *reader) addObject(o *Object) {
	if missing := missingIdentity(o); missing != "" {
		r.addProblem(NotAnObject, o.File, o.firstLine, "is no Kubernetes object: it has no "+missing, "add "+missing)
		return
	}
	r.Objects = append(r.Objects, o)
	r.decode(o)
}

// toJSON reports invalid YAML as a problem of kind broken. Every text of a bundle is parsed here first, within limits.
func (r *reader) toJSON(broken Kind, file string, d document) ([]byte, bool) {
	if err := yamltext.Check(d.text); err != nil {
		r.addProblem(broken, file, d.line, err.Error(), "write it in more files, and without aliases")
		return nil, false
	}
	content, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		lenient, lenientErr := yaml.YAMLToJSON(d.text)
		if lenientErr != nil {
			line, detail := yamlError(lenientErr, d.line)
			r.addProblem(broken, file, line, detail, "correct the YAML there, or just above")
			return nil, false
		}
		// For a repeated key, most readers use the last value.
		line, detail := yamlError(err, d.line)
		r.addProblem(RepeatedField, file, line, detail+": all but the last are ignored", "keep one")
		content = lenient
	}
	if yamltext.Depth(content) > yamltext.MaxDepth {
		r.addProblem(broken, file, d.line, fmt.Sprintf("has more than %d mappings and lists inside each other", yamltext.MaxDepth), "nest fewer")
		return nil, false
	}
	return content, true
}

func missingIdentity(o *Object) string {
	for _, field := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		if value, ok, err := unstructured.NestedString(o.Object, field...); err != nil || !ok || value == "" {
			return strings.Join(field, ".")
		}
	}
	return ""
}

// decode removes unknown fields before it sets Typed: both forms of the object are always the same.
func (r *reader) decode(o *Object) {
	target := newTyped(o.GroupVersionKind())
	if target == nil {
		r.dropClusterMetadata(o)
		r.checkKind(o)
		return
	}
	r.prune(o, o.Object, reflect.TypeOf(target), nil)
	r.dropClusterMetadata(o)
	if !r.limitQuantities(o, target) {
		return
	}
	if err := o.decodeInto(target); err != nil {
		r.wrongTypes(o, reflect.TypeOf(target), err)
		return
	}
	if r.limitCombinations(o, target) {
		o.Typed = target
	}
}

// newTyped returns nil for an unknown kind. It also decodes a ClusterServiceVersion of a wrong group, to check the rest.
func newTyped(kind schema.GroupVersionKind) runtime.Object {
	if kind.Kind == operatorsv1alpha1.ClusterServiceVersionKind {
		return &operatorsv1alpha1.ClusterServiceVersion{}
	}
	object, _ := kinds.New(kind) // nil for an unknown kind
	return object
}

// checkKind knows the groups of Kubernetes and OLM. Only the cluster has the kinds of other groups.
func (r *reader) checkKind(o *Object) {
	unknown := func(path, what string) {
		r.addFieldProblem(UnknownKind, o, path, what+": the API server refuses the object", "correct kind or apiVersion")
	}
	version := o.GroupVersionKind().GroupVersion()
	switch {
	case kinds.IsVersionRegistered(version):
		unknown("kind", fmt.Sprintf("is %q, and %s has no such kind", o.GetKind(), version))
	case kinds.IsGroupRegistered(version.Group):
		known := lists.Map(kinds.PrioritizedVersionsForGroup(version.Group), schema.GroupVersion.String)
		unknown("apiVersion", fmt.Sprintf("is %q, and there are %s alone", o.GetAPIVersion(), strings.Join(known, ", ")))
	case !strings.Contains(version.Group, "."):
		unknown("apiVersion", fmt.Sprintf("is %q, and Kubernetes has no such group; the name of any other has a dot", o.GetAPIVersion()))
	}
}

func fieldPath(err error) string {
	if field, ok := errors.AsType[strictjson.FieldError](err); ok {
		return field.FieldPath()
	}
	return ""
}

var lineNumber = regexp.MustCompile(`(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)

// yamlError returns the line in the file: the parser counts from the beginning of the document.
func yamlError(err error, first int) (line int, detail string) {
	detail = strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	at := lineNumber.FindStringSubmatchIndex(detail)
	if at == nil {
		return first, strings.TrimPrefix(detail, "yaml: ")
	}
	n, _ := strconv.Atoi(detail[at[2]:at[3]]) // digits
	return first + n - 1, strings.TrimSpace(detail[:at[0]] + detail[at[1]:])
}

// Typed returns an object in the Go type of its kind; nil for an unknown kind.
func Typed(o *unstructured.Unstructured) any {
	target := newTyped(o.GroupVersionKind())
	if target == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, target) != nil {
		return nil
	}
	return target
}
