package explain

import (
	"context"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
)

// openField is a field whose value is not known.
type openField struct {
	// path starts with the variable of expressions: object or request.
	path []string
	// optional reports whether the field may also be absent.
	optional bool
}

func open(field string) openField { return openField{path: strings.Split(field, ".")} }

func optional(field string) openField { return openField{strings.Split(field, "."), true} }

// String is the field as an expression names it.
func (f openField) String() string { return strings.Join(f.path, ".") }

// related reports whether an expression reads the field, a part of it, or an object that has it.
func (f openField) related(r read) bool {
	return within(f.String(), r.path) || within(r.path, f.String())
}

// value makes each result unknown that depends on the field. CEL also regards has() of such a field as unknown: a field that
// expressions only test has another value.
func (f openField) value(reads []read) any {
	tested := func(r read) bool { return r.tested && within(f.String(), r.path) }
	if !slices.ContainsFunc(reads, func(r read) bool { return f.related(r) && !tested(r) }) {
		return ""
	}
	return types.NewUnknown(0, types.NewAttributeTrail(f.String()))
}

// variants returns the attributes with a value for each open field, one for each set of optional fields that are absent.
func variants(attr *admission.VersionedAttributes, fields []openField, reads []read) ([]*admission.VersionedAttributes, error) {
	if len(fields) == 0 {
		return []*admission.VersionedAttributes{attr}, nil
	}
	input, err := inputOf(attr)
	if err != nil {
		return nil, err
	}
	all := []map[string]any{input}
	for _, field := range fields {
		var next []map[string]any
		for _, o := range all {
			next = append(next, changed(o, field.path, func(parent map[string]any, key string) { parent[key] = field.value(reads) }))
			if field.optional {
				next = append(next, changed(o, field.path, func(parent map[string]any, key string) { delete(parent, key) }))
			}
		}
		all = next
	}
	var result []*admission.VersionedAttributes
	for _, input := range all {
		result = append(result, attributesOf(attr, input))
	}
	return result, nil
}

// inputOf returns what expressions get of a request, by variables.
func inputOf(attr *admission.VersionedAttributes) (map[string]any, error) {
	request := cel.CreateAdmissionRequest(attr.Attributes, metav1.GroupVersionResource(attr.GetResource()), metav1.GroupVersionKind(attr.VersionedKind))
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(request)
	if err != nil {
		return nil, err
	}
	input := map[string]any{cel.RequestVarName: fields}
	for variable, object := range map[string]runtime.Object{cel.ObjectVarName: attr.VersionedObject, cel.OldObjectVarName: attr.VersionedOldObject} {
		if object == nil {
			continue
		}
		if input[variable], err = content(object); err != nil {
			return nil, err
		}
	}
	return input, nil
}

// attributesOf returns the attributes with other objects. The request is in them as carriedRequest.
func attributesOf(attr *admission.VersionedAttributes, input map[string]any) *admission.VersionedAttributes {
	with := *attr
	carrying := func(variable string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: changed(input[variable].(map[string]any), []string{carriedRequest}, func(object map[string]any, key string) {
			object[key] = input[cel.RequestVarName]
		})}
	}
	if with.VersionedObject != nil {
		with.VersionedObject = carrying(cel.ObjectVarName)
	} else {
		with.VersionedOldObject = carrying(cel.OldObjectVarName)
	}
	return &with
}

// The API server gives expressions a request with Go types, which has no place for unknown values. So an expression that is
// wrapped gets the request of attributesOf: it is the variable of a macro with one iteration.
const (
	carriedRequest = "$request"
	wrapStart      = `[(object == null ? oldObject : object)["` + carriedRequest + `"]].`
	conditionStart = wrapStart + "exists(request, "
	conditionEnd   = "\n)"
	variableStart  = wrapStart + "map(request, "
	variableEnd    = "\n)[0]"
)

// unwrapped returns the text of an error without what wraps expressions.
var unwrapped = strings.NewReplacer(conditionStart, "", conditionEnd, "", variableStart, "", variableEnd, "")

// partial evaluates conditions. It records the open fields that a result depends on.
type partial struct {
	cel.ConditionEvaluator
	depends []string
}

// ForInput implements cel.ConditionEvaluator. A result that is not known is neither false nor an error.
func (p *partial) ForInput(ctx context.Context, attr *admission.VersionedAttributes, request *admissionv1.AdmissionRequest, inputs cel.OptionalVariableBindings, ns *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	results, left, err := p.ConditionEvaluator.ForInput(ctx, attr, request, inputs, ns, budget)
	for _, r := range results {
		if unknown, is := r.EvalResult.(*types.Unknown); is {
			p.depends = append(p.depends, trails(unknown)...)
		}
	}
	return results, left, err
}

func trails(of *types.Unknown) []string {
	var names []string
	for _, id := range of.IDs() {
		attributes, _ := of.GetAttributeTrails(id)
		for _, a := range attributes {
			names = append(names, a.String())
		}
	}
	return names
}
