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

func (o *Object) decodeInto(target any) error {
	content, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return strictjson.UnmarshalCaseSensitivePreserveInts(content, target)
}

// prune removes from an object the fields that its Go type does not have, and reports them. It walks the object and the
// type: a text such as "spec.rules[0]" may be a path, or a key. Types that decode themselves are skipped: their fields do
// not show what they accept.
func (r *reader) prune(o *Object, value any, t reflect.Type, at keyPath) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		r.pruneMapping(o, value, t, at)
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return // Decoding reports the wrong type.
		}
		for i, item := range value {
			r.prune(o, item, t.Elem(), append(at, strconv.Itoa(i)))
		}
	}
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

func (r *reader) pruneMapping(o *Object, value map[string]any, t reflect.Type, at keyPath) {
	if t.Kind() != reflect.Map && t.Kind() != reflect.Struct {
		return // Decoding reports the wrong type.
	}
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = jsonfields.Of(t)
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		of, known := fields[key]
		if t.Kind() == reflect.Map {
			of, known = t.Elem(), true
		}
		if known {
			r.prune(o, value[key], of, append(at, key))
			continue
		}
		delete(value, key)
		r.unknownField(o, append(at, key), fields)
	}
}

func (r *reader) unknownField(o *Object, at keyPath, fields map[string]reflect.Type) {
	if r.full(UnknownField, o.File) {
		return
	}
	remedy := "correct or remove it"
	if similar := rules.Nearest(at[len(at)-1], slices.Sorted(maps.Keys(fields))); similar != "" {
		remedy = fmt.Sprintf("write %s, or remove it", similar)
	}
	r.report(Problem{
		Kind: UnknownField, File: o.File, Line: o.lineAt(at), Path: at.String(),
		Detail: fmt.Sprintf("is no field of a %s: the API server drops it, or refuses the object", o.GetKind()), Remedy: remedy,
	})
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
