package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/jsonfields"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/quantities"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// limitQuantities returns false for an object with quantities that must not be decoded.
func (r *reader) limitQuantities(o *Object, into any) bool {
	all := quantities.Find(o.Object, reflect.TypeOf(into), maxProblems+1)
	for _, q := range all {
		r.addFieldProblem(Undecodable, o, keyPath(q.Path).String(), "is a quantity with too many digits, or too large an exponent", "write it with one of the suffixes of Kubernetes, such as 512Mi")
	}
	return len(all) == 0
}

func (r *reader) reportUnknownFields(o *Object, all []unknownField) {
	for _, unknown := range all {
		remedy := "correct or remove it"
		if unknown.similar != "" {
			remedy = fmt.Sprintf("write %s, or remove it", unknown.similar)
		}
		if r.full(UnknownField, o.File) {
			return
		}
		r.report(Problem{
			Kind: UnknownField, File: o.File, Line: o.lineAt(unknown.at), Object: o, Path: unknown.at.String(),
			Detail: fmt.Sprintf("is no field of a %s: the API server drops it, or refuses the object", o.GetKind()), Remedy: remedy,
		})
	}
}

func (o *Object) decodeInto(target any) error {
	content, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return strictjson.UnmarshalCaseSensitivePreserveInts(content, target)
}

type unknownField struct {
	at keyPath
	// similar is the field with the most similar name; empty if none is similar.
	similar string
}

// prune removes from an object the fields that its Go type does not have, and returns them, but no more
// than are reported. It walks the object and the type: a text such as "spec.rules[0]" may be a path, or a key.
func prune(fields map[string]any, to any) []unknownField {
	var p pruning
	p.value(fields, reflect.TypeOf(to), nil)
	return p.unknown
}

type pruning struct{ unknown []unknownField }

func (p *pruning) add(at keyPath, t reflect.Type) {
	if len(p.unknown) <= maxProblems {
		p.unknown = append(p.unknown, unknownField{at: slices.Clone(at), similar: nearestField(at[len(at)-1], t)})
	}
}

type keyPath []string

// String returns "spec.rules[0]", and "metadata.annotations[example.com/key]" for keys that are no plain names.
func (p keyPath) String() string {
	var text strings.Builder
	for _, key := range p {
		switch {
		case strings.ContainsAny(key, ".[] ") || isIndex(key):
			text.WriteString("[" + key + "]")
		case text.Len() > 0:
			text.WriteString("." + key)
		default:
			text.WriteString(key)
		}
	}
	return text.String()
}

func isIndex(key string) bool {
	_, err := strconv.Atoi(key)
	return err == nil
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// value skips types that decode themselves: their fields do not show what they accept.
func (p *pruning) value(value any, t reflect.Type, at keyPath) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		p.mapping(value, t, at)
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return // Decoding reports the wrong type.
		}
		for i, item := range value {
			p.value(item, t.Elem(), append(at, strconv.Itoa(i)))
		}
	}
}

func (p *pruning) mapping(value map[string]any, t reflect.Type, at keyPath) {
	var typeOf func(key string) (reflect.Type, bool)
	switch t.Kind() {
	case reflect.Map:
		typeOf = func(string) (reflect.Type, bool) { return t.Elem(), true }
	case reflect.Struct:
		known := jsonfields.Of(t)
		typeOf = func(key string) (reflect.Type, bool) { of, ok := known[key]; return of, ok }
	default:
		return // Decoding reports the wrong type.
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		of, known := typeOf(key)
		if !known {
			delete(value, key)
			p.add(append(at, key), t)
			continue
		}
		p.value(value[key], of, append(at, key))
	}
}

func nearestField(key string, t reflect.Type) string {
	return rules.Nearest(key, slices.Sorted(maps.Keys(jsonfields.Of(t))))
}
