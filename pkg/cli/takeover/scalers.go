package takeover

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// ScalersOf returns the clients that apply spec.replicas of a Deployment again and again, by its managed fields. Such a
// client applies the field on the server, as Argo CD, Flux and Config Sync do, or has the name of a controller. People apply
// it with kubectl or Helm. Any other client may have created the Deployment, or scaled it once, such as a web console.
func ScalersOf(fields []metav1.ManagedFieldsEntry) []string {
	all := lists.FilterMap(fields, func(entry metav1.ManagedFieldsEntry) (string, bool) {
		again := entry.Operation == metav1.ManagedFieldsOperationApply && !isOfPeople(entry.Manager)
		return entry.Manager, entry.Subresource == "" && (again || strings.HasSuffix(entry.Manager, "-controller")) && ownsReplicas(entry)
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// isOfPeople reports whether a field manager is that of a command, or of the programs of a takeover.
func isOfPeople(manager string) bool {
	return strings.HasPrefix(manager, "kubectl") || strings.EqualFold(manager, "helm") || slices.Contains(ownManagers, manager)
}

func ownsReplicas(entry metav1.ManagedFieldsEntry) bool {
	var owned struct {
		Spec map[string]any `json:"f:spec"`
	}
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil {
		return false
	}
	_, owns := owned.Spec["f:replicas"]
	return owns
}
