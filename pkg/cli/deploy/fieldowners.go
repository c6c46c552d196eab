package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Owned returns the fields of a definition that a bundle decides about: the conversion belongs to the manager while
// the operator runs.
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
		var owned map[string]any
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil || ownsPartOf(owned, content) {
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

// ownsPartOf reports whether owned, a set of fields in the form of FieldsV1, has a value of the content.
func ownsPartOf(owned, content map[string]any) bool {
	for key, below := range owned {
		value, has := content[strings.TrimPrefix(key, "f:")]
		if !has {
			continue
		}
		fields, _ := below.(map[string]any)
		if len(fields) == 0 {
			return true
		}
		switch value := value.(type) {
		case map[string]any:
			if ownsPartOf(fields, value) {
				return true
			}
		case []any:
			if ownsPartOfEntry(fields, value) {
				return true
			}
		}
	}
	return false
}

// ownsPartOfEntry compares the entries of a list that are identified by some of their fields. The client of each other
// field owns these, too: they decide nothing.
func ownsPartOfEntry(owned map[string]any, entries []any) bool {
	for key, below := range owned {
		text, identified := strings.CutPrefix(key, "k:")
		var identity map[string]any
		if !identified || json.Unmarshal([]byte(text), &identity) != nil {
			continue
		}
		fields, _ := below.(map[string]any)
		for _, entry := range entries {
			values, _ := entry.(map[string]any)
			if has(values, identity) && ownsPartOf(fields, without(values, identity)) {
				return true
			}
		}
	}
	return false
}

func has(values, identity map[string]any) bool {
	for field, value := range identity {
		if got, there := values[field]; there && fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
	}
	return len(values) > 0
}

func without(values, identity map[string]any) map[string]any {
	rest := maps.Clone(values)
	for field := range identity {
		delete(rest, field)
	}
	return rest
}
