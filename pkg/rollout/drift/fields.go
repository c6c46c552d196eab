package drift

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

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

// GenerationField is the annotation with the trusted certificate generation.
var GenerationField = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", wellknown.AnnotationGeneration))

// SoleOwner reports whether the manager and no other client owns some of the fields.
func SoleOwner(live Object, fields *fieldpath.Set) bool {
	own := slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == wellknown.FieldManager && !FieldsOf(entry).Intersection(fields).Empty()
	})
	return own && LastWriter(live, fields) == ""
}
