package drift

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// TrimManagedFields takes from an object what nobody reads of its managed fields, which are a good part
// of it: who wrote its status, and which fields the manager created it with, but for those
// that it may have to take away again.
func TrimManagedFields(o Object) {
	entries := slices.DeleteFunc(o.GetManagedFields(), func(w metav1.ManagedFieldsEntry) bool { return w.Subresource == "status" })
	for i, entry := range entries {
		if entry.Manager != wellknown.FieldManager || entry.Operation == metav1.ManagedFieldsOperationApply {
			continue
		}
		entries[i].FieldsV1 = rawFields(additions(o, FieldsOf(entry)))
	}
	o.SetManagedFields(entries)
}

// TrimDefinition leaves of the managed fields of a definition, which are as long as its schema,
// who wrote, when, which part of its conversion, and the annotation with its certificate generation.
func TrimDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	for i, entry := range crd.ManagedFields {
		crd.ManagedFields[i].FieldsV1 = rawFields(ConversionFields(entry).Union(FieldsOf(entry).Intersection(GenerationField)))
	}
}

// rawFields are fields as an object has them; nil for none.
func rawFields(fields *fieldpath.Set) *metav1.FieldsV1 {
	if fields.Empty() {
		return nil
	}
	text, err := fields.ToJSON()
	if err != nil {
		panic(err) // they were read from JSON
	}
	raw := &metav1.FieldsV1{}
	raw.SetRawBytes(text)
	return raw
}
