package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Owned returns the fields of a definition that a bundle decides about. The conversion belongs to the manager.
func Owned(definition *unstructured.Unstructured) *unstructured.Unstructured {
	owned := definition.DeepCopy()
	unstructured.RemoveNestedField(owned.Object, "status")
	unstructured.RemoveNestedField(owned.Object, "spec", "conversion")
	for _, field := range ofAPIServer {
		unstructured.RemoveNestedField(owned.Object, "metadata", field)
	}
	return owned
}

// ConflictsWith reports whether the answer to server-side apply names one of these field managers.
func ConflictsWith(answer error, managers []string) bool {
	var status apierrors.APIStatus
	if !errors.As(answer, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldManagerConflict && slices.ContainsFunc(managers, func(manager string) bool {
			return strings.HasPrefix(cause.Message, fmt.Sprintf("conflict with %q", manager))
		})
	})
}

// ownManagers are the field managers of the commands, the manager and Kubernetes. They adopt nothing.
var ownManagers = []string{
	FieldManager, wellknown.FieldManager, wellknown.FieldManagerOwnerReferences,
	"kube-apiserver", "kube-controller-manager", "clusterrole-aggregation-controller",
	"before-first-apply", // which names no client
}

// TakenBy returns the other clients that own a field of a live object that the manifest has, too. Metadata and status
// decide nothing, and neither does what a client has added, such as a key of a ConfigMap or an entry of a list. The
// question of a removal names the operator itself: its ClusterServiceVersion, OperatorGroup and Subscription are not
// adopted.
func TakenBy(manifest, live *unstructured.Unstructured) []string {
	if slices.Contains(ofOperator, groupkind.Of(live)) {
		return nil
	}
	content := contentOf(manifest)
	var managers []string
	for _, m := range live.GetManagedFields() {
		if m.Subresource != "" || m.FieldsV1 == nil || slices.Contains(ownManagers, m.Manager) || slices.Contains(managers, m.Manager) {
			continue
		}
		if owned, err := ownedFields(m); err != nil || slices.ContainsFunc(owned, func(path fieldpath.Path) bool { return hasValueAt(content, path) }) {
			managers = append(managers, m.Manager)
		}
	}
	return managers
}

var ofOperator = []schema.GroupKind{groupkind.ClusterServiceVersion, groupkind.OperatorGroup, groupkind.Subscription}

// contentOf returns the fields of a manifest that no other client may own.
func contentOf(manifest *unstructured.Unstructured) map[string]any {
	content := manifest.DeepCopy()
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		unstructured.RemoveNestedField(content.Object, field)
	}
	if groupkind.Is(manifest, groupkind.CustomResourceDefinition) { // The manager writes it, and tools write its caBundle.
		unstructured.RemoveNestedField(content.Object, "spec", "conversion")
	}
	if text, has := content.Object["stringData"]; has { // of a Secret, which the API server stores as data
		content.Object["data"] = text
	}
	return content.Object
}

func ownedFields(m metav1.ManagedFieldsEntry) ([]fieldpath.Path, error) {
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(m.FieldsV1.GetRawReader()); err != nil {
		return nil, err
	}
	var paths []fieldpath.Path
	for path := range owned.Leaves().All() {
		paths = append(paths, path.Copy())
	}
	return paths, nil
}

// hasValueAt reports whether a client that owns a path owns a value of the content. The fields that identify an entry
// of a list decide nothing: the client of each other field of the entry owns these, too.
func hasValueAt(content any, path fieldpath.Path) bool {
	if len(path) == 0 {
		return true
	}
	switch at, rest := path[0], path[1:]; {
	case at.FieldName != nil:
		fields, _ := content.(map[string]any)
		value, exists := fields[*at.FieldName]
		return exists && hasValueAt(value, rest)
	case at.Key != nil && len(rest) > 0 && !isIn(*at.Key, rest[0]):
		entries, _ := content.([]any)
		return slices.ContainsFunc(entries, func(entry any) bool { return isIdentifiedBy(entry, *at.Key) && hasValueAt(entry, rest) })
	default:
		return false
	}
}

func isIn(identity value.FieldList, at fieldpath.PathElement) bool {
	return slices.ContainsFunc(identity, func(f value.Field) bool { return at.FieldName != nil && *at.FieldName == f.Name })
}

func isIdentifiedBy(entry any, identity value.FieldList) bool {
	values, _ := entry.(map[string]any)
	return len(values) > 0 && !slices.ContainsFunc(identity, func(f value.Field) bool {
		got, there := values[f.Name]
		return there && fmt.Sprint(got) != fmt.Sprint(f.Value.Unstructured())
	})
}
