package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Lean takes from an object what nobody reads of its managed fields, which are a good part
// of it: who wrote its status, and which fields the manager created it with, but for those
// that it may have to take away again.
func Lean(o Object) {
	entries := slices.DeleteFunc(o.GetManagedFields(), func(w metav1.ManagedFieldsEntry) bool { return w.Subresource == "status" })
	for i, entry := range entries {
		if entry.Manager != vocabulary.FieldManager || entry.Operation == metav1.ManagedFieldsOperationApply {
			continue
		}
		entries[i].FieldsV1 = nil
		if added := additions(o, fieldsOf(entry)); !added.Empty() {
			text, err := added.ToJSON()
			if err != nil {
				panic(err) // they were read from JSON
			}
			entries[i].FieldsV1 = &metav1.FieldsV1{}
			entries[i].FieldsV1.SetRawBytes(text)
		}
	}
	o.SetManagedFields(entries)
}
