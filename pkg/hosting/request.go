package hosting

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// Request is one admission request. The embedded AdmissionRequest has its fields (Operation,
// UserInfo, Namespace, DryRun and so on), except for the objects, which are decoded once, into the
// handler's type.
//
// Use the type *unstructured.Unstructured for objects of several kinds,
// *metav1.PartialObjectMetadata for metadata only, and *runtime.Unknown for the bytes of the request,
// which are in its field Raw.
type Request[T runtime.Object] struct {
	admissionv1.AdmissionRequest

	// Object is the object to admit; nil for DELETE. A mutating handler changes it in place. Fields
	// that T does not have keep their values.
	Object T `json:"object"`
	// OldObject is the existing object; nil for CREATE and CONNECT.
	OldObject T `json:"oldObject"`

	answer *answer // nil in a Request that a test creates
}

type answer struct {
	warnings    []string
	annotations map[string]string
}

// Warn adds a warning, which API servers show to the client of an allowed or denied request. It
// should have at most 120 characters: API servers truncate longer warnings.
func (r Request[T]) Warn(format string, args ...any) {
	if r.answer == nil {
		return
	}
	r.answer.warnings = append(r.answer.warnings, fmt.Sprintf(format, args...))
}

// Annotate adds an annotation to the request's event in the audit log. The key must be a valid key
// of a Kubernetes annotation without a prefix: the prefix is the webhook's registered name.
func (r Request[T]) Annotate(key, value string) {
	for _, msg := range validation.IsQualifiedName("webhook/" + key) {
		klog.ErrorS(nil, "The API server ignores an audit annotation with an invalid key", "key", key, "request", r.UID, "reason", msg)
	}
	if r.answer == nil {
		return
	}
	if r.answer.annotations == nil {
		r.answer.annotations = map[string]string{}
	}
	r.answer.annotations[key] = value
}
