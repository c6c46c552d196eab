package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Conversion returns a handler that converts the objects of a CustomResourceDefinition
// between its versions. One version is the hub, and each other one a spoke that converts
// to the hub and back; from spoke to spoke the way leads over the hub.
//
// An object is converted without loss if what one version says and the other has no
// field for is kept in an annotation.
func Conversion[H runtime.Object](hub schema.GroupVersionKind, spokes ...SpokeVersion[H]) Handler {
	c := &converter[H]{hub: hub, spokes: map[string]SpokeVersion[H]{}, mistakes: []error{checkConvertible[H]()}, decoded: costOf(reflect.TypeFor[H](), conversionFactor)}
	for _, s := range spokes {
		if _, ok := c.spokes[s.kind.Version]; ok || s.kind.Version == hub.Version {
			c.mistakes = append(c.mistakes, fmt.Errorf("version %s is there twice", s.kind.Version))
		}
		if s.kind.GroupKind() != hub.GroupKind() {
			c.mistakes = append(c.mistakes, fmt.Errorf("the spoke %s is another kind than the hub %s", s.kind, hub))
		}
		c.mistakes = append(c.mistakes, s.mistake)
		c.spokes[s.kind.Version] = s
		c.decoded.object = max(c.decoded.object, s.decoded.object)
		c.decoded.raw = c.decoded.raw && s.decoded.raw
	}
	return c
}

// SpokeVersion is a version that converts to the hub's type H and back.
type SpokeVersion[H runtime.Object] struct {
	kind    schema.GroupVersionKind
	toHub   func(body []byte, hub H) error
	fromHub func(hub H) (runtime.Object, error)
	mistake error
	decoded cost
}

// Spoke returns a version of a CustomResourceDefinition, with the functions that fill the
// hub's object from its own and its own from the hub's. Both get an object that already
// has the right apiVersion, kind and metadata. They may change labels and annotations:
// API servers keep all other metadata as it was.
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
			setKind(to, kind)
			if err := copyMetadata(hub, to); err != nil {
				return nil, err
			}
			return to, fromHub(hub, to)
		},
		mistake: checkConvertible[S](),
		decoded: costOf(reflect.TypeFor[S](), conversionFactor),
	}
}

type converter[H runtime.Object] struct {
	hub      schema.GroupVersionKind
	spokes   map[string]SpokeVersion[H]
	mistakes []error
	decoded  cost
}

func (c *converter[H]) form() form          { return conversion }
func (c *converter[H]) cost(b []byte) int64 { return c.decoded.ofLargest(b) }
func (c *converter[H]) maxBodyBytes() int64 { return 32 << 20 }

func (c *converter[H]) check(w *Webhook) error {
	mistakes := slices.Clone(c.mistakes)
	if len(w.Kinds) > 0 || len(w.Operations) > 0 {
		mistakes = append(mistakes, errors.New("a conversion has no Kinds and no Operations: its hub and spokes say what it converts"))
	}
	if len(c.spokes) == 0 {
		mistakes = append(mistakes, errors.New("its conversion has no spokes: there is nothing to convert"))
	}
	return errors.Join(mistakes...)
}

func (c *converter[H]) answer(ctx context.Context, _ *Webhook, body []byte) (any, outcome, error) {
	return answerConversion(ctx, body, c.convert)
}

// convert returns the object in another version; as it is, if it is of that one.
func (c *converter[H]) convert(object runtime.RawExtension, to schema.GroupVersion) (runtime.RawExtension, error) {
	from, err := c.versionOf(object)
	if err != nil {
		return object, err
	}
	if to.Group != c.hub.Group || !c.has(to.Version) {
		return object, fmt.Errorf("this webhook converts to %s", quoted(c.kinds(nil)))
	}
	if from == to.Version {
		return object, nil
	}
	hub := newObject[H]()
	setKind(hub, c.hub)
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

// versionOf returns the version of an object that the handler converts.
func (c *converter[H]) versionOf(object runtime.RawExtension) (string, error) {
	var meta runtime.TypeMeta
	if err := decode(object.Raw, &meta); err != nil {
		return "", fmt.Errorf("the object does not decode: %w", err)
	}
	kind := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	if kind.GroupKind() != c.hub.GroupKind() || !c.has(kind.Version) {
		return "", fmt.Errorf("the object is %s: this webhook converts %s", kind, quoted(c.kinds(nil)))
	}
	return kind.Version, nil
}

func (c *converter[H]) has(version string) bool {
	_, ok := c.spokes[version]
	return ok || version == c.hub.Version
}

// kinds are the hub and the spokes by their versions.
func (c *converter[H]) kinds(*Webhook) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{c.hub}
	for _, version := range slices.Sorted(maps.Keys(c.spokes)) {
		kinds = append(kinds, c.spokes[version].kind)
	}
	return kinds
}
