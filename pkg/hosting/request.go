package hosting

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// Request is one admission request. What the API server says of it (Operation, UserInfo,
// Namespace, DryRun and so on) is in the embedded AdmissionRequest, except for the
// objects, which are decoded once, into the handler's type.
//
// A handler that takes objects of several kinds has the type *unstructured.Unstructured;
// one that looks at metadata alone, *metav1.PartialObjectMetadata; and one that wants the
// bytes as they came, *runtime.Unknown, in whose Raw they are.
type Request[T runtime.Object] struct {
	admissionv1.AdmissionRequest

	// Object is what is to be admitted; nil for DELETE. A mutating handler changes what
	// it points to. A field that the API server knows and T does not is kept as it is.
	Object T `json:"object"`
	// OldObject is what there is now; nil for CREATE and CONNECT.
	OldObject T `json:"oldObject"`

	notes *notes
}

// notes is what an answer says besides its verdict. A Request that a test makes has none.
type notes struct {
	warnings    []string
	annotations map[string]string
}

// Warn has the API server show a warning to the client, whatever the verdict. It should
// fit into 120 characters: API servers cut what is much longer.
func (r Request[T]) Warn(format string, args ...any) {
	if r.notes == nil {
		return
	}
	r.notes.warnings = append(r.notes.warnings, fmt.Sprintf(format, args...))
}

// Annotate has the API server add an annotation to the request's line in the audit log.
// The key must be one of a Kubernetes annotation, without a prefix: the webhook's
// registered name becomes that.
func (r Request[T]) Annotate(key, value string) {
	for _, msg := range validation.IsQualifiedName("webhook/" + key) {
		klog.Errorf("Audit annotation %q of request %s: the API server will drop it: %s", key, r.UID, msg)
	}
	if r.notes == nil {
		return
	}
	if r.notes.annotations == nil {
		r.notes.annotations = map[string]string{}
	}
	r.notes.annotations[key] = value
}
