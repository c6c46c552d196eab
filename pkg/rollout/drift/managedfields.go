package drift

import (
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// TrimManagedFields saves memory: it removes the writer of the status and defaults of the creation.
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

// TrimDefinition keeps what is read of managedFields, which are as long as the schema.
func TrimDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	for i, entry := range crd.ManagedFields {
		crd.ManagedFields[i].FieldsV1 = rawFields(ConversionFields(entry).Union(FieldsOf(entry).Intersection(GenerationField)))
	}
}

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

// ConversionFields excludes spec.conversion itself, which the creator of the definition owns.
func ConversionFields(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	FieldsOf(entry).Iterate(func(p fieldpath.Path) {
		if strings.HasPrefix(p.String(), ".spec.conversion.") {
			fields.Insert(p.Copy())
		}
	})
	return fields
}

// ConversionWritten returns when the manager last wrote the conversion, if it owns the conversion; empty otherwise. The
// time has a resolution of one second.
func ConversionWritten(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, entry := range crd.ManagedFields {
		if entry.Manager == wellknown.FieldManager && entry.Subresource == "" && entry.Time != nil && !ConversionFields(entry).Empty() {
			return entry.Time.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

func ownsConversion(live Object, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && !ConversionFields(entry).Empty()
	})
}

// BundleWriter returns the other field manager that last wrote the caBundle of a registration.
func BundleWriter(live Object) string {
	bundles := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		FieldsOf(entry).Iterate(func(p fieldpath.Path) {
			if field := p[len(p)-1].FieldName; field != nil && *field == "caBundle" {
				bundles.Insert(p.Copy())
			}
		})
	}
	return LastWriter(live, bundles)
}

// GenerationField is the annotation with the trusted certificate generation.
var GenerationField = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", wellknown.AnnotationGeneration))

// SoleOwner reports whether the manager and no other client owns some of the fields.
func SoleOwner(live Object, fields *fieldpath.Set) bool {
	own := slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == wellknown.FieldManager && !FieldsOf(entry).Intersection(fields).Empty()
	})
	return own && LastWriter(live, fields) == ""
}
