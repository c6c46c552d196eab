package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
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

// ownManagers are the field managers of the commands, the manager and Kubernetes. They take nothing over.
var ownManagers = []string{
	FieldManager, wellknown.FieldManager, wellknown.FieldManagerOwnerReferences,
	"kube-apiserver", "kube-controller-manager", "clusterrole-aggregation-controller",
	"before-first-apply", // which names no client
}

// TakenBy returns the other clients that own a field of a live object that the manifest has, too. Metadata and status
// decide nothing, and neither do fields that a client has added, such as a key of a ConfigMap. A manifest without
// content is of an earlier version: each field counts. The question of a removal names the operator itself: its
// ClusterServiceVersion, OperatorGroup and Subscription are not taken over.
func TakenBy(manifest, live *unstructured.Unstructured) []string {
	if slices.Contains(ofOperator, groupkind.Of(live)) {
		return nil
	}
	var managers []string
	for _, m := range live.GetManagedFields() {
		if m.Subresource == "" && m.FieldsV1 != nil && !slices.Contains(ownManagers, m.Manager) && !slices.Contains(managers, m.Manager) && ownsFieldOf(m, manifest) {
			managers = append(managers, m.Manager)
		}
	}
	return managers
}

var ofOperator = []schema.GroupKind{groupkind.ClusterServiceVersion, groupkind.OperatorGroup, groupkind.Subscription}

func ownsFieldOf(m metav1.ManagedFieldsEntry, manifest *unstructured.Unstructured) bool {
	var owned map[string]map[string]any
	if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
		return true
	}
	for key, below := range owned {
		field := strings.TrimPrefix(key, "f:")
		if slices.Contains(undecided, field) {
			continue
		}
		value, has := manifest.Object[field]
		if field == "data" && !has {
			value, has = manifest.Object["stringData"] // of a Secret
		}
		if has && ownsKeyOf(field, below, value, manifest) || !has && !hasContent(manifest) {
			return true
		}
	}
	return false
}

// undecided are the fields of an object that every client may write without taking it over.
var undecided = []string{"apiVersion", "kind", "metadata", "status"}

func ownsKeyOf(field string, below map[string]any, value any, manifest *unstructured.Unstructured) bool {
	keys, isMap := value.(map[string]any)
	if !isMap || len(below) == 0 {
		return true
	}
	for key := range below {
		name := strings.TrimPrefix(key, "f:")
		_, has := keys[name]
		// The manager writes the conversion of a definition, and tools write its caBundle.
		conversion := field == "spec" && name == "conversion" && groupkind.Is(manifest, groupkind.CustomResourceDefinition)
		if has && !conversion {
			return true
		}
	}
	return false
}

// hasContent reports whether a manifest has other fields than an entry of a record. A ServiceAccount needs none: other
// clients add its Secrets.
func hasContent(manifest *unstructured.Unstructured) bool {
	if groupkind.Is(manifest, groupkind.ServiceAccount) {
		return true
	}
	for field := range manifest.Object {
		if !slices.Contains(undecided, field) {
			return true
		}
	}
	return false
}
