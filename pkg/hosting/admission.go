package hosting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Validating returns a handler that admits a request or refuses it. The function returns
// nil to admit, and an error of Deny or DenyStatus to refuse.
func Validating[T runtime.Object](judge func(ctx context.Context, r Request[T]) error) Handler {
	return admission[T]{kind: validating, handle: judge, decoded: costOf(reflect.TypeFor[T](), validatingFactor)}
}

// Mutating returns a handler that changes r.Object in place, or refuses the request as a
// validating one does. The JSON patch is computed from what has changed.
func Mutating[T runtime.Object](change func(ctx context.Context, r Request[T]) error) Handler {
	return admission[T]{kind: mutating, handle: change, decoded: costOf(reflect.TypeFor[T](), mutatingFactor)}
}

type admission[T runtime.Object] struct {
	kind    form
	handle  func(context.Context, Request[T]) error
	decoded cost
}

func (a admission[T]) form() form          { return a.kind }
func (a admission[T]) cost(b []byte) int64 { return a.decoded.of(b) }
func (a admission[T]) maxBodyBytes() int64 { return 7 << 20 }

func (a admission[T]) kinds(w *Webhook) []schema.GroupVersionKind { return w.Kinds }

func (a admission[T]) check(w *Webhook) error {
	var mistakes []error
	if a.handle == nil {
		mistakes = append(mistakes, errors.New("its handler has no function"))
	}
	if len(w.Kinds) == 0 {
		mistakes = append(mistakes, errors.New("it has no Kinds: name those that its handler takes"))
	}
	if err := a.checkType(w); err != nil {
		mistakes = append(mistakes, err)
	}
	return errors.Join(mistakes...)
}

// checkType finds kinds that do not decode into T, as far as Kubernetes' own types tell.
func (a admission[T]) checkType(w *Webhook) error {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return fmt.Errorf("its handler takes %s: take a pointer to a struct, like *corev1.Pod", t)
	}
	known, _, _ := scheme.Scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(T))
	ofItsOwn := len(known) == 0 // the author's: there is nothing to compare with
	var mistakes []error
	for _, kind := range w.Kinds {
		if !ofItsOwn && !slices.Contains(known, kind) {
			mistakes = append(mistakes, fmt.Errorf("its handler takes %s, which is not the type of %s", t, kind))
		}
	}
	return errors.Join(mistakes...)
}

// admissionReview is admissionv1.AdmissionReview with objects of the handler's type, so
// that the body is decoded in one pass.
type admissionReview[T runtime.Object] struct {
	metav1.TypeMeta `json:",inline"`
	Request         *Request[T] `json:"request"`
}

func (a admission[T]) answer(ctx context.Context, w *Webhook, body []byte) (any, outcome, error) {
	review := admissionReview[T]{}
	if err := decode(body, &review); err != nil {
		return nil, invalid, explain(w, body, err)
	}
	if err := checkReview(w, review.TypeMeta); err != nil {
		return nil, invalid, err
	}
	if review.Request == nil {
		return nil, invalid, badRequest("the AdmissionReview has no request")
	}
	if err := checkRequest(w, &review.Request.AdmissionRequest); err != nil {
		return nil, invalid, err
	}
	if err := checkObjects(review.Request); err != nil {
		return nil, invalid, err
	}
	response, said, err := a.respond(ctx, body, *review.Request)
	if err != nil {
		return nil, said, err
	}
	return &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}, said, nil
}

func (a admission[T]) respond(ctx context.Context, body []byte, r Request[T]) (*admissionv1.AdmissionResponse, outcome, error) {
	r.notes = &notes{}
	var before runtime.Object
	if a.kind == mutating && !isNil(r.Object) {
		before = r.Object.DeepCopyObject()
	}

	err := a.handle(ctx, r)
	response := &admissionv1.AdmissionResponse{
		UID:              r.UID,
		Warnings:         r.notes.warnings,
		AuditAnnotations: r.notes.annotations,
	}
	if status := denialIn(err); status != nil {
		response.Result = status
		return response, denied, nil
	}
	if err != nil {
		return nil, failed, internalError(err)
	}

	response.Allowed = true
	if before == nil {
		return response, allowed, nil
	}
	patch, err := patchFor(body, before, r.Object)
	if err != nil {
		return nil, failed, internalError(fmt.Errorf("the patch cannot be computed: %w", err))
	}
	if patch == nil {
		return response, allowed, nil
	}
	response.Patch, response.PatchType = patch, &jsonPatch
	return response, patched, nil
}

var jsonPatch = admissionv1.PatchTypeJSONPatch

// checkReview is about the envelope: an answer of another version than the question's
// would not be understood.
func checkReview(w *Webhook, review metav1.TypeMeta) error {
	const kind = "AdmissionReview"
	takes := review == metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
	if w.V1beta1 {
		takes = takes || review == metav1.TypeMeta{APIVersion: admissionv1beta1.SchemeGroupVersion.String(), Kind: kind}
	}
	if !takes {
		return badRequest("the body is %q of %q: this webhook takes %s of %s", review.Kind, review.APIVersion, kind, quoted(admissionVersions(w)))
	}
	return nil
}
