package hosting

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
)

// decode is case-sensitive about names, like API servers. encoding/json would accept a field "SPEC"
// as "spec", and a handler would decide on a value that no API server stores.
func decode(body []byte, into any) error {
	return json.UnmarshalCaseSensitivePreserveInts(body, into)
}

// explain prefers the likely reason: an object of another kind.
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
	return httperror.BadRequest("the body does not decode: %v", err)
}

func checkRequest(w *Webhook, r *admissionv1.AdmissionRequest) error {
	if err := checkUID(r.UID); err != nil {
		return err
	}
	if err := checkKind(w, r.Kind); err != nil {
		return err
	}
	if !slices.Contains(w.Operations, r.Operation) {
		return httperror.BadRequest("request.operation is %q: this webhook accepts %s", r.Operation, quote.List(w.Operations))
	}
	return nil
}

func checkUID(uid types.UID) error {
	if uid == "" {
		return httperror.BadRequest("request.uid is missing: an API server does not accept an answer without it")
	}
	return nil
}

func checkKind(w *Webhook, kind metav1.GroupVersionKind) error {
	if gvk := schema.GroupVersionKind(kind); !slices.Contains(w.Kinds, gvk) {
		return httperror.BadRequest("request.kind is %s: this webhook accepts %s", gvk, quote.List(w.Kinds))
	}
	return nil
}

// checkObjects checks that the request has the objects of its operation, so that handlers need not.
func checkObjects[T runtime.Object](r *Request[T]) error {
	if r.Operation != admissionv1.Delete && isNil(r.Object) {
		return httperror.BadRequest("request.object is missing, for %s", r.Operation)
	}
	if (r.Operation == admissionv1.Update || r.Operation == admissionv1.Delete) && isNil(r.OldObject) {
		return httperror.BadRequest("request.oldObject is missing, for %s", r.Operation)
	}
	return nil
}

func isNil[T runtime.Object](object T) bool {
	var none T
	return any(object) == any(none)
}

// admissionVersions returns the versions of the reviews that a webhook accepts, the preferred first.
func admissionVersions(w *Webhook) []string {
	if w.V1beta1 {
		return []string{"v1", "v1beta1"}
	}
	return []string{"v1"}
}
