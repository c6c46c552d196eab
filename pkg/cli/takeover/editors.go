package takeover

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownManagers are the field managers of olm-operator, which is that of its program's name, and of the manager.
var ownManagers = []string{"olm", "olm-operator", "olm-webhook-manager"}

// EditorsOf returns the clients other than olm-operator and the manager that own fields below a field of an object, such
// as "f:spec". A client that only changed the number of replicas or restarted the pods is none.
func EditorsOf(fields []metav1.ManagedFieldsEntry, below string) []string {
	var all []string
	for _, entry := range fields {
		if entry.Subresource != "" || entry.FieldsV1 == nil || slices.Contains(ownManagers, entry.Manager) || slices.Contains(all, entry.Manager) {
			continue
		}
		var owned map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil || owned[below] == nil || operates(owned[below], nil) {
			continue
		}
		all = append(all, entry.Manager)
	}
	slices.Sort(all)
	return all
}

// operations are the fields of a Deployment below spec that clients set to operate it: kubectl scale, and kubectl rollout
// restart and pause.
var operations = [][]string{
	{"f:replicas"},
	{"f:paused"},
	{"f:template", "f:metadata", "f:annotations", "f:kubectl.kubernetes.io/restartedAt"},
}

// operates reports whether all fields of a set are operations. The path is that of the set.
func operates(fields any, path []string) bool {
	set, is := fields.(map[string]any)
	if !is || len(set) == 0 {
		return slices.ContainsFunc(operations, func(o []string) bool { return slices.Equal(o, path) })
	}
	for name, below := range set {
		if name != "." && !operates(below, append(slices.Clone(path), name)) {
			return false
		}
	}
	return true
}
