package hosting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/jsonpatch"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/registration"
)

// Validating returns a handler that allows or denies a request. The function returns nil to allow,
// and an error of Deny or DenyStatus to deny.
func Validating[T runtime.Object](validate func(ctx context.Context, r Request[T]) error) Handler {
	return admission[T]{kind: registration.Validating, handle: validate, decoded: limits.CostOf(reflect.TypeFor[T](), limits.ValidatingFactor)}
}

// Mutating returns a handler that changes r.Object in place, or denies the request like a validating
// one. The JSON patch is computed from the changes.
func Mutating[T runtime.Object](mutate func(ctx context.Context, r Request[T]) error) Handler {
	return admission[T]{kind: registration.Mutating, handle: mutate, decoded: limits.CostOf(reflect.TypeFor[T](), limits.MutatingFactor)}
}

type admission[T runtime.Object] struct {
	kind    registration.Form
	handle  func(context.Context, Request[T]) error
	decoded limits.Cost
}

func (a admission[T]) form() registration.Form { return a.kind }
func (a admission[T]) cost(b []byte) int64     { return a.decoded.Of(b) }
func (a admission[T]) maxBodyBytes() int64     { return 7 << 20 }

func (a admission[T]) kinds(w *Webhook) []schema.GroupVersionKind { return w.Kinds }

func (a admission[T]) check(w *Webhook) error {
	var errs []error
	if a.handle == nil {
		errs = append(errs, errors.New("its handler has no function"))
	}
	if len(w.Kinds) == 0 {
		errs = append(errs, errors.New("it has no Kinds: list the kinds that its handler accepts"))
	}
	return errors.Join(append(errs, a.checkType(w))...)
}

// checkType returns an error for kinds that do not decode into T. It knows the types of Kubernetes.
func (a admission[T]) checkType(w *Webhook) error {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return fmt.Errorf("its handler takes %s: use a pointer to a struct, such as *corev1.Pod", t)
	}
	known, _, _ := scheme.Scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(T))
	custom := len(known) == 0 // a type of the author, which is not compared
	var errs []error
	for _, kind := range w.Kinds {
		if !custom && !slices.Contains(known, kind) {
			errs = append(errs, fmt.Errorf("its handler takes %s, which is not the type of %s", t, kind))
		}
	}
	return errors.Join(errs...)
}

// admissionReview decodes objects into the handler's type, so that the body is decoded only once.
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
		return nil, invalid, httperror.BadRequest("the AdmissionReview has no request")
	}
	if err := checkRequest(w, &review.Request.AdmissionRequest); err != nil {
		return nil, invalid, err
	}
	if err := checkObjects(review.Request); err != nil {
		return nil, invalid, err
	}
	response, outcome, err := a.respond(ctx, body, *review.Request)
	if err != nil {
		return nil, outcome, err
	}
	return &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}, outcome, nil
}

func (a admission[T]) respond(ctx context.Context, body []byte, r Request[T]) (*admissionv1.AdmissionResponse, outcome, error) {
	r.answer = &answer{}
	var before runtime.Object
	if a.kind == registration.Mutating && !isNil(r.Object) {
		before = r.Object.DeepCopyObject()
	}
	err := a.handle(ctx, r)
	response := &admissionv1.AdmissionResponse{
		UID:              r.UID,
		Warnings:         r.answer.warnings,
		AuditAnnotations: r.answer.annotations,
	}
	if status := denialIn(err); status != nil {
		response.Result = status
		return response, denied, nil
	}
	if err != nil {
		return nil, failed, httperror.Internal(err)
	}
	response.Allowed = true
	if before == nil {
		return response, allowed, nil
	}
	patch, err := jsonpatch.ForReview(body, before, r.Object)
	if err != nil {
		return nil, failed, httperror.Internal(fmt.Errorf("cannot compute the patch: %w", err))
	}
	if patch == nil {
		return response, allowed, nil
	}
	response.Patch, response.PatchType = patch, &jsonPatch
	return response, patched, nil
}

var jsonPatch = admissionv1.PatchTypeJSONPatch

// checkReview checks the version: API servers do not accept an answer of another version.
func checkReview(w *Webhook, review metav1.TypeMeta) error {
	const kind = "AdmissionReview"
	group, version, _ := strings.Cut(review.APIVersion, "/")
	if review.Kind != kind || group != admissionv1.GroupName || !slices.Contains(admissionVersions(w), version) {
		return httperror.BadRequest("the body is %q of %q: this webhook accepts %s of %s", review.Kind, review.APIVersion, kind, quote.List(admissionVersions(w)))
	}
	return nil
}
