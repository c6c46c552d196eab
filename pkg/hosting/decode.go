package hosting

import (
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"
)

// decode is as particular about names as the API server is: under encoding/json's rules a
// field "SPEC" would stand in for "spec", and a handler would judge what nobody stores.
func decode(body []byte, into any) error {
	return json.UnmarshalCaseSensitivePreserveInts(body, into)
}

// explain says why a body does not decode. An object of another kind is the likely
// reason, which a decoder puts as "cannot unmarshal array into Go struct field".
func explain(w *Webhook, body []byte, err error) error {
	var review struct {
		Request struct {
			Kind metav1.GroupVersionKind `json:"kind"`
		} `json:"request"`
	}
	if decode(body, &review) == nil && review.Request.Kind != (metav1.GroupVersionKind{}) {
		if err := checkKind(w, review.Request.Kind); err != nil {
			return err
		}
	}
	return badRequest("the body does not decode: %v", err)
}

// checkRequest is about what the request says of itself.
func checkRequest(w *Webhook, r *admissionv1.AdmissionRequest) error {
	if err := checkUID(r.UID); err != nil {
		return err
	}
	if err := checkKind(w, r.Kind); err != nil {
		return err
	}
	if !w.takesOperation(r.Operation) {
		return badRequest("request.operation is %q: this webhook takes %s", r.Operation, quoted(w.Operations))
	}
	return nil
}

func checkUID(uid types.UID) error {
	if uid == "" {
		return badRequest("request.uid is missing: without it no API server would take the answer for its own")
	}
	return nil
}

func checkKind(w *Webhook, kind metav1.GroupVersionKind) error {
	if gvk := schema.GroupVersionKind(kind); !w.takesKind(gvk) {
		return badRequest("request.kind is %s: this webhook takes %s", gvk, quoted(w.Kinds))
	}
	return nil
}

// checkObjects spares handlers the question whether there is an object.
func checkObjects[T runtime.Object](r *Request[T]) error {
	if r.Operation != admissionv1.Delete && isNil(r.Object) {
		return badRequest("request.object is missing, for %s", r.Operation)
	}
	if (r.Operation == admissionv1.Update || r.Operation == admissionv1.Delete) && isNil(r.OldObject) {
		return badRequest("request.oldObject is missing, for %s", r.Operation)
	}
	return nil
}

// isNil says whether there was no object, or null.
func isNil[T runtime.Object](object T) bool {
	var none T
	return any(object) == any(none)
}

// admissionVersions are the versions of the reviews that a webhook takes, best first.
func admissionVersions(w *Webhook) []string {
	if w.V1beta1 {
		return []string{"v1", "v1beta1"}
	}
	return []string{"v1"}
}
