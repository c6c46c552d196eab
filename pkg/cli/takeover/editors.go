package takeover

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownManagers are the field managers of olm-operator, which is that of its program's name, and of the manager.
var ownManagers = []string{"olm", "olm-operator", "olm-webhook-manager"}

// EditorsOf returns the clients other than olm-operator and the manager that own fields below a field of an object, such
// as "f:spec". A client that only changed the number of replicas is none.
func EditorsOf(fields []metav1.ManagedFieldsEntry, below string) []string {
	var all []string
	for _, entry := range fields {
		if entry.Subresource != "" || entry.FieldsV1 == nil || slices.Contains(ownManagers, entry.Manager) || slices.Contains(all, entry.Manager) {
			continue
		}
		var owned map[string]json.RawMessage
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil || owned[below] == nil {
			continue
		}
		if only := map[string]json.RawMessage{}; json.Unmarshal(owned[below], &only) == nil && len(only) == 1 && only["f:replicas"] != nil {
			continue
		}
		all = append(all, entry.Manager)
	}
	slices.Sort(all)
	return all
}
