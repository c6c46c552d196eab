package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
