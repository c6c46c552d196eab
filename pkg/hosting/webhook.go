package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

// Webhook is a handler, and the requests that it is called for.
type Webhook struct {
	// Handler is a result of Validating, Mutating or Conversion.
	Handler Handler

	// Kinds are the kinds that the handler accepts. A call for another kind is answered with an
	// error. A conversion leaves this empty: its handler defines its kind and versions.
	Kinds []schema.GroupVersionKind

	// Operations are the operations that the handler accepts; CREATE and UPDATE if empty. A call for
	// another operation is answered with an error. A conversion leaves this empty.
	Operations []admissionv1.Operation

	// Path is the path at which the webhook is served; "/" and its name if empty.
	Path string

	// Prepare is optional and runs before the first call. It creates clients, starts informers with
	// ctx, which lasts as long as the process, and returns when they have synced. Until then, the
	// process is not ready and calls are answered with 503. An error ends the process.
	Prepare func(ctx context.Context, env Environment) error

	// V1beta1 makes the webhook also accept reviews of admission.k8s.io/v1beta1, for API servers
	// before 1.16 and for registrations that list only this version.
	V1beta1 bool

	// MaxBodyBytes limits the body of a request. If zero, it is 7 MiB, which is enough for two objects
	// of the size limit of API servers, and 32 MiB for conversions, which have lists of objects.
	MaxBodyBytes int64

	// Registration has the fields of the registration that --register-webhooks writes and that do not
	// follow from the fields above.
	Registration Registration
}

// Handler answers the calls of one webhook.
type Handler interface {
	answer(ctx context.Context, w *Webhook, body []byte) (review any, outcome outcome, err error)
	// cost returns the memory in bytes that the objects in a body need at most when they are decoded.
	cost(body []byte) int64
	check(w *Webhook) error
	// maxBodyBytes returns the limit if the webhook sets none.
	maxBodyBytes() int64
	// kinds returns the kinds of the objects in requests; of a conversion, the hub's first.
	kinds(w *Webhook) []schema.GroupVersionKind
	form() registration.Form
}

func (w Webhook) withDefaults(name string) *Webhook {
	w.Path = cmp.Or(w.Path, "/"+name)
	if w.Handler == nil {
		return &w
	}
	if len(w.Operations) == 0 && w.Handler.form() != registration.Conversion {
		w.Operations = []admissionv1.Operation{admissionv1.Create, admissionv1.Update}
	}
	w.MaxBodyBytes = cmp.Or(w.MaxBodyBytes, w.Handler.maxBodyBytes())
	return &w
}

// validPath matches paths without characters that need escaping in a URL or have a meaning in a mux.
var validPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

func (w *Webhook) check() error {
	if w.Handler == nil {
		return errors.New("it has no Handler: create one with Validating, Mutating or Conversion")
	}
	var errs []error
	if !validPath.MatchString(w.Path) || path.Clean(w.Path) != w.Path {
		errs = append(errs, fmt.Errorf("path %q: use a path such as /validate/pods, of letters, digits, dots and dashes", w.Path))
	}
	if slices.Contains(serving.OwnPaths, w.Path) {
		errs = append(errs, fmt.Errorf("path %q: the server answers it itself", w.Path))
	}
	return errors.Join(append(errs, w.Handler.check(w))...)
}

// Registration has the fields of a webhook's registration that do not follow from the Webhook. The
// zero value of each field is the safe choice. Conversions do not use it.
type Registration struct {
	// Rules replace the rules for Kinds and Operations, which list the resources of the kinds without
	// subresources.
	Rules []admissionregistrationv1.RuleWithOperations

	// FailurePolicy is Ignore if empty. A webhook with the policy Fail can block the pods that serve
	// it. With Fail and a Service, the namespace of the Service is excluded unless NamespaceSelector
	// is set.
	FailurePolicy admissionregistrationv1.FailurePolicyType

	// SideEffects is None if empty: dry runs reach the webhook.
	SideEffects admissionregistrationv1.SideEffectClass

	// TimeoutSeconds is 10 if zero, which is the default of API servers.
	TimeoutSeconds int32

	// ReinvocationPolicy of a mutating webhook; Never if empty.
	ReinvocationPolicy admissionregistrationv1.ReinvocationPolicyType

	// NamespaceSelector, ObjectSelector and MatchConditions restrict the requests.
	NamespaceSelector *metav1.LabelSelector
	ObjectSelector    *metav1.LabelSelector
	MatchConditions   []admissionregistrationv1.MatchCondition
}

// settings returns the registration with its defaults. It has no rules if they follow from Kinds and Operations.
func (w *Webhook) settings() admissionregistrationv1.MutatingWebhook {
	r := w.Registration
	settings := admissionregistrationv1.MutatingWebhook{
		Rules:                   r.Rules,
		FailurePolicy:           new(cmp.Or(r.FailurePolicy, admissionregistrationv1.Ignore)),
		SideEffects:             new(cmp.Or(r.SideEffects, admissionregistrationv1.SideEffectClassNone)),
		TimeoutSeconds:          new(cmp.Or(r.TimeoutSeconds, 10)),
		NamespaceSelector:       r.NamespaceSelector,
		ObjectSelector:          r.ObjectSelector,
		MatchConditions:         r.MatchConditions,
		AdmissionReviewVersions: admissionVersions(w),
	}
	if w.Handler.form() == registration.Mutating {
		settings.ReinvocationPolicy = new(cmp.Or(r.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy))
	}
	return settings
}
