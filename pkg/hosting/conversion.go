package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/registration"
)

// Conversion returns a handler that converts the objects of a CustomResourceDefinition between its
// versions. One version is the hub. Each other version is a spoke, which converts to the hub and
// back. A spoke converts to another spoke through the hub.
//
// A conversion loses nothing if it keeps the values that one version has no field for in an
// annotation.
func Conversion[H runtime.Object](hub schema.GroupVersionKind, spokes ...SpokeVersion[H]) Handler {
	c := &converter[H]{hub: hub, spokes: map[string]SpokeVersion[H]{}, errs: []error{checkConvertible[H]()}, decoded: limits.CostOf(reflect.TypeFor[H](), limits.ConversionFactor)}
	for _, s := range spokes {
		if _, ok := c.spokes[s.kind.Version]; ok || s.kind.Version == hub.Version {
			c.errs = append(c.errs, fmt.Errorf("version %s appears twice", s.kind.Version))
		}
		if s.kind.GroupKind() != hub.GroupKind() {
			c.errs = append(c.errs, fmt.Errorf("the spoke %s is another kind than the hub %s", s.kind, hub))
		}
		c.errs = append(c.errs, s.err)
		c.spokes[s.kind.Version] = s
		c.decoded = c.decoded.Or(s.decoded)
	}
	return c
}

// SpokeVersion is a version that converts to the hub's type H and back.
type SpokeVersion[H runtime.Object] struct {
	kind    schema.GroupVersionKind
	toHub   func(body []byte, hub H) error
	fromHub func(hub H) (runtime.Object, error)
	err     error
	decoded limits.Cost
}

// Spoke returns a version of a CustomResourceDefinition. Its functions fill the hub's object from the
// spoke's, and the spoke's from the hub's. The object to fill already has the right apiVersion, kind
// and metadata. The functions may change labels and annotations: API servers ignore changes of other
// metadata.
func Spoke[S, H runtime.Object](kind schema.GroupVersionKind, toHub func(from S, to H) error, fromHub func(from H, to S) error) SpokeVersion[H] {
	return SpokeVersion[H]{
		kind: kind,
		toHub: func(body []byte, hub H) error {
			from := newObject[S]()
			if err := decode(body, from); err != nil {
				return err
			}
			if err := copyMetadata(from, hub); err != nil {
				return err
			}
			return toHub(from, hub)
		},
		fromHub: func(hub H) (runtime.Object, error) {
			to := newObject[S]()
			to.GetObjectKind().SetGroupVersionKind(kind)
			if err := copyMetadata(hub, to); err != nil {
				return nil, err
			}
			return to, fromHub(hub, to)
		},
		err:     checkConvertible[S](),
		decoded: limits.CostOf(reflect.TypeFor[S](), limits.ConversionFactor),
	}
}

type converter[H runtime.Object] struct {
	hub     schema.GroupVersionKind
	spokes  map[string]SpokeVersion[H]
	errs    []error
	decoded limits.Cost
}

func (c *converter[H]) form() registration.Form { return registration.Conversion }
func (c *converter[H]) cost(b []byte) int64     { return c.decoded.OfLargest(b) }
func (c *converter[H]) maxBodyBytes() int64     { return 32 << 20 }

func (c *converter[H]) check(w *Webhook) error {
	errs := slices.Clone(c.errs)
	if len(w.Kinds) > 0 || len(w.Operations) > 0 {
		errs = append(errs, errors.New("a conversion has no Kinds and no Operations: its hub and spokes define what it converts"))
	}
	if len(c.spokes) == 0 {
		errs = append(errs, errors.New("its conversion has no spokes: there is nothing to convert"))
	}
	return errors.Join(errs...)
}

// convert returns the object in another version. An object of that version is returned unchanged.
func (c *converter[H]) convert(object runtime.RawExtension, to schema.GroupVersion) (runtime.RawExtension, error) {
	from, err := c.versionOf(object)
	if err != nil {
		return object, err
	}
	if to.Group != c.hub.Group || !c.has(to.Version) {
		return object, fmt.Errorf("this webhook converts to %s", quote.List(c.kinds(nil)))
	}
	if from == to.Version {
		return object, nil
	}
	hub := newObject[H]()
	hub.GetObjectKind().SetGroupVersionKind(c.hub)
	if from == c.hub.Version {
		err = decode(object.Raw, hub)
	} else {
		err = c.spokes[from].toHub(object.Raw, hub)
	}
	if err != nil || to.Version == c.hub.Version {
		return runtime.RawExtension{Object: hub}, err
	}
	result, err := c.spokes[to.Version].fromHub(hub)
	return runtime.RawExtension{Object: result}, err
}

func (c *converter[H]) versionOf(object runtime.RawExtension) (string, error) {
	var meta runtime.TypeMeta
	if err := decode(object.Raw, &meta); err != nil {
		return "", fmt.Errorf("the object does not decode: %w", err)
	}
	kind := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	if kind.GroupKind() != c.hub.GroupKind() || !c.has(kind.Version) {
		return "", fmt.Errorf("the object is %s: this webhook converts %s", kind, quote.List(c.kinds(nil)))
	}
	return kind.Version, nil
}

func (c *converter[H]) has(version string) bool {
	_, ok := c.spokes[version]
	return ok || version == c.hub.Version
}

// kinds returns the kind of the hub, and then of the spokes by version.
func (c *converter[H]) kinds(*Webhook) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{c.hub}
	for _, version := range slices.Sorted(maps.Keys(c.spokes)) {
		kinds = append(kinds, c.spokes[version].kind)
	}
	return kinds
}

var conversionReviewType = metav1.TypeMeta{
	APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
	Kind:       "ConversionReview",
}

func (c *converter[H]) answer(ctx context.Context, _ *Webhook, body []byte) (any, outcome, error) {
	review := apiextensionsv1.ConversionReview{}
	if err := decode(body, &review); err != nil {
		return nil, invalid, httperror.BadRequest("the body does not decode: %v", err)
	}
	if review.TypeMeta != conversionReviewType {
		return nil, invalid, httperror.BadRequest("the body is %q of %q: this webhook accepts %s of %s",
			review.Kind, review.APIVersion, conversionReviewType.Kind, conversionReviewType.APIVersion)
	}
	if review.Request == nil {
		return nil, invalid, httperror.BadRequest("the ConversionReview has no request")
	}
	if err := checkUID(review.Request.UID); err != nil {
		return nil, invalid, err
	}
	response, outcome := c.respond(ctx, review.Request)
	return &apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: response}, outcome, nil
}

func (c *converter[H]) respond(ctx context.Context, request *apiextensionsv1.ConversionRequest) (*apiextensionsv1.ConversionResponse, outcome) {
	response := &apiextensionsv1.ConversionResponse{UID: request.UID}
	objects, err := c.convertAll(ctx, request)
	if err != nil {
		response.ConvertedObjects = []runtime.RawExtension{}
		response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
		return response, refused
	}
	response.ConvertedObjects = objects
	response.Result.Status = metav1.StatusSuccess
	return response, converted
}

func (c *converter[H]) convertAll(ctx context.Context, request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	to, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil {
		return nil, fmt.Errorf("request.desiredAPIVersion: %w", err)
	}
	objects := make([]runtime.RawExtension, len(request.Objects))
	for i, object := range request.Objects {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the call's deadline passed after %d of %d objects", i, len(objects))
		}
		if objects[i], err = c.convert(object, to); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: %w", i, to, err)
		}
		// Each object is encoded at once, so that only one is decoded at a time.
		if objects[i].Raw, err = objects[i].MarshalJSON(); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: cannot encode it: %w", i, to, err)
		}
		objects[i].Object = nil
	}
	return objects, nil
}
