// Package drift compares live objects with desired ones. It names the fields that differ and the client
// that wrote them, accepts what admission changes, and limits repairs that another client reverts.
package drift

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Drift is the difference between a live and a desired object.
type Drift struct {
	// Fields are the paths that differ, sorted.
	Fields []string
	// Extra are the Fields that the desired object lacks. Only an update removes them.
	Extra []string
	// KeptByApply is set if the manager wrote Extra by an update: it owns them after an apply without them.
	KeptByApply bool
	// By is the other field manager that last wrote one of Fields; empty if the desired object changed, or ownership does not show it.
	By string
}

// None reports whether nothing differs.
func (d Drift) None() bool { return len(d.Fields) == 0 }

// typeConverter knows for every built-in kind which lists are maps by key, as the API server does.
var typeConverter = applyconfigurations.NewTypeConverter(scheme.Scheme)

// deducedConverter treats every list as one value.
var deducedConverter = managedfields.NewDeducedTypeConverter()

// deducedConverter is for kinds whose compared parts have no lists that are maps.
func converterFor(kind Object) managedfields.TypeConverter {
	switch kind.(type) {
	case *apiregistrationv1.APIService, *apiextensionsv1.CustomResourceDefinition, *unstructured.Unstructured:
		return deducedConverter
	default:
		return typeConverter
	}
}

// Of ignores fields of others, except fields that the manager applied before.
func Of(desired, live Object) Drift {
	return Compare(desired, live).Drift()
}

// Comparison is the difference between a live and a desired object, as field sets.
type Comparison struct {
	live    Object
	have    *typed.TypedValue
	wanted  *fieldpath.Set // fields with another value, or none
	extra   *fieldpath.Set // see Drift
	updated *fieldpath.Set // fields that the manager wrote by an update
}

// Compare compares a live object with the desired one. Exclusive paths must have no other content.
func Compare(desired, live Object, exclusive ...string) Comparison {
	want, have := typedForm(desired, desired), typedForm(live, desired)
	compared, err := have.Compare(want)
	if err != nil {
		panic(err) // both are of the same kind
	}
	ours, updated := written(live)
	extra := compared.Removed.Intersection(ours)
	compared.Removed.Iterate(func(p fieldpath.Path) {
		if slices.ContainsFunc(exclusive, func(prefix string) bool { return strings.HasPrefix(p.String(), prefix) }) {
			extra.Insert(p.Copy())
		}
	})
	return Comparison{live: live, have: have, wanted: compared.Modified.Union(compared.Added), extra: extra, updated: updated}
}

func (c Comparison) fields() *fieldpath.Set { return c.wanted.Union(c.extra) }

// Drift returns how the live object differs from the desired one.
func (c Comparison) Drift() Drift {
	fields := c.fields()
	return Drift{Fields: paths(fields), Extra: paths(c.extra), KeptByApply: !c.extra.Intersection(c.updated).Empty(), By: LastWriter(c.live, fields)}
}

// typedForm returns an object in the form that the merge library compares.
func typedForm(object, kind Object) *typed.TypedValue {
	u := &unstructured.Unstructured{Object: writable(object)}
	u.SetGroupVersionKind(gvkOf(kind))
	form, err := converterFor(kind).ObjectToTyped(u, typed.AllowDuplicates)
	if err != nil {
		panic(fmt.Sprintf("%s %s: %v", u.GetKind(), object.GetName(), err))
	}
	return form
}

func writable(object Object) map[string]any {
	if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
		object = conversionOf(crd)
	}
	if foreign, ok := object.(*unstructured.Unstructured); ok {
		object = foreign.DeepCopy() // it is not copied by the conversion
	} else {
		object = withoutManagedFields(object)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err) // API types always convert
	}
	for _, part := range []string{"apiVersion", "kind", "status"} {
		delete(content, part)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		maps.DeleteFunc(metadata, func(key string, _ any) bool { return !slices.Contains(ownedMetadata, key) })
	}
	withoutEmpty(content)
	return content
}

// The conversion of managedFields would parse each entry.
func withoutManagedFields(object Object) Object {
	shallow := reflect.New(reflect.TypeOf(object).Elem())
	shallow.Elem().Set(reflect.ValueOf(object).Elem())
	c := shallow.Interface().(Object)
	c.SetManagedFields(nil)
	return c
}

// conversionOf returns the fields of a definition that the manager writes.
func conversionOf(crd *apiextensionsv1.CustomResourceDefinition) Object {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Conversion: crd.Spec.Conversion},
	}
}

var ownedMetadata = []string{"name", "namespace", "labels", "annotations", "ownerReferences"}

// withoutEmpty also removes structs that Go writes for unset fields. An empty label selector selects everything.
func withoutEmpty(content map[string]any) {
	for key, value := range content {
		switch v := value.(type) {
		case nil:
			delete(content, key)
		case map[string]any:
			withoutEmpty(v)
			if len(v) == 0 && !strings.HasSuffix(strings.ToLower(key), "selector") {
				delete(content, key)
			}
		case []any:
			for _, item := range v {
				if m, ok := item.(map[string]any); ok {
					withoutEmpty(m)
				}
			}
		}
	}
}

// updated are the fields of the manager's creations and updates (see additions).
func written(live Object) (all, updated *fieldpath.Set) {
	all, updated = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		switch {
		case entry.Manager != wellknown.FieldManager || entry.Subresource != "":
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			all = all.Union(FieldsOf(entry))
		default:
			updated = updated.Union(additions(live, FieldsOf(entry)))
		}
	}
	return all.Union(updated), updated
}

// The creator of an object also owns its defaults, which additions excludes.
func additions(live Object, fields *fieldpath.Set) *fieldpath.Set {
	places := []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "annotations")}
	if _, deployment := live.(*appsv1.Deployment); !deployment {
		places = append(places, fieldpath.MakePathOrDie("metadata", "ownerReferences"), fieldpath.MakePathOrDie("spec", "ports"))
	}
	added := fieldpath.NewSet()
	for _, place := range places {
		within := fields
		for _, part := range place {
			within = within.WithPrefix(part)
		}
		within.Iterate(func(p fieldpath.Path) { added.Insert(slices.Concat(place, p)) })
	}
	return added
}

// LastWriter returns the other field manager that last wrote one of the fields.
func LastWriter(live Object, fields *fieldpath.Set) string {
	if fields.Empty() {
		return ""
	}
	var last metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == wellknown.FieldManager || FieldsOf(entry).Intersection(fields).Empty() {
			continue
		}
		if last.Manager == "" || last.Time.Before(entry.Time) {
			last = entry
		}
	}
	return last.Manager
}

// FieldsOf returns the fields of an entry of managedFields.
func FieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return fieldpath.NewSet()
	}
	return set
}

func paths(set *fieldpath.Set) []string {
	var all []string
	set.Leaves().Iterate(func(p fieldpath.Path) { all = append(all, strings.TrimPrefix(p.String(), ".")) })
	return all
}
