package hosting

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Webhook is what RegisterWebhook takes: a handler, and what it is called for.
type Webhook struct {
	// Handler is made by Validating, Mutating or Conversion.
	Handler Handler

	// Kinds are those whose objects the handler takes. A call for another kind is
	// answered with an error. A conversion leaves this empty: its kind and versions
	// are its handler's.
	Kinds []schema.GroupVersionKind

	// Operations are those that the handler takes, CREATE and UPDATE if there are none
	// here. A call for another operation is answered with an error. A conversion leaves
	// this empty.
	Operations []admissionv1.Operation

	// Path is where the webhook is served; "/" and its name if empty.
	Path string

	// Prepare, if there is one, runs before the first call: it makes clients, starts
	// informers with ctx, which lives as long as the process, and returns when they have
	// synced. Until then the process is not ready and calls are answered with 503; an
	// error ends the process.
	Prepare func(ctx context.Context, env Environment) error

	// V1beta1 has the webhook take reviews of admission.k8s.io/v1beta1 too, for API
	// servers before 1.16 and for registrations that still list this version alone.
	V1beta1 bool

	// MaxBodyBytes limits a request; 7 MiB if zero, which is room for two objects as
	// large as the API server takes them, and 32 MiB for conversions, which come in lists.
	MaxBodyBytes int64

	// Registration says how --register-webhooks registers the webhook, where that does
	// not follow from the fields above.
	Registration Registration
}

// Handler answers the calls of one webhook.
type Handler interface {
	// answer decodes the review in body and returns the one to answer with, and in one
	// word what it says.
	answer(ctx context.Context, w *Webhook, body []byte) (review any, outcome outcome, err error)
	// cost is how many bytes the objects in a body take when they are decoded, at most.
	cost(body []byte) int64
	// check says what is wrong with the webhook that the handler is to serve.
	check(w *Webhook) error
	// maxBodyBytes is the limit if the webhook sets none.
	maxBodyBytes() int64
	// kinds are those of the objects that the webhook gets; of a conversion, the hub's
	// first.
	kinds(w *Webhook) []schema.GroupVersionKind
	// form is what kind of registration makes API servers call the webhook.
	form() form
}

// form is a kind of webhook, as the API server tells them apart.
type form int

const (
	validating form = iota
	mutating
	conversion
)

func (w Webhook) withDefaults(name string) *Webhook {
	if w.Path == "" {
		w.Path = "/" + name
	}
	if w.Handler == nil {
		return &w
	}
	if len(w.Operations) == 0 && w.Handler.form() != conversion {
		w.Operations = []admissionv1.Operation{admissionv1.Create, admissionv1.Update}
	}
	if w.MaxBodyBytes == 0 {
		w.MaxBodyBytes = w.Handler.maxBodyBytes()
	}
	return &w
}

// validPath has nothing that would need escaping in a URL, or means something to a mux.
var validPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

func (w *Webhook) check() error {
	if w.Handler == nil {
		return errors.New("it has no Handler: make one with Validating, Mutating or Conversion")
	}
	var mistakes []error
	if !validPath.MatchString(w.Path) || path.Clean(w.Path) != w.Path {
		mistakes = append(mistakes, fmt.Errorf("path %q: say one like /validate/pods, of letters, digits, dots and dashes", w.Path))
	}
	if slices.Contains(ownPaths, w.Path) {
		mistakes = append(mistakes, fmt.Errorf("path %q: the server answers it itself", w.Path))
	}
	return errors.Join(append(mistakes, w.Handler.check(w))...)
}

// takesKind and takesOperation compare with short lists, which is quicker than a set.
func (w *Webhook) takesKind(kind schema.GroupVersionKind) bool {
	return slices.Contains(w.Kinds, kind)
}

func (w *Webhook) takesOperation(operation admissionv1.Operation) bool {
	return slices.Contains(w.Operations, operation)
}
