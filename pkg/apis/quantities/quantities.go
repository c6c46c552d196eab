// Package quantities finds quantities whose decoding takes hours. Kubernetes' library computes
// 10^exponent when it decodes a quantity of more than 18 digits.
package quantities

import (
	"bytes"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/jsonfields"
)

var quantity = reflect.TypeFor[resource.Quantity]()

const maxLength = 64

var largeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

// Undecodable is a quantity that must not be decoded.
type Undecodable struct {
	// Path leads to it: the keys of mappings and the indexes of lists.
	Path []string
	// Replace puts another value in its place.
	Replace func(value any)
}

// Suspicious reports whether a JSON text may have an undecodable quantity. It costs little.
func Suspicious(text []byte) bool {
	for {
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			return false
		}
		text = text[quote+1:]
		if begins(text) {
			return true
		}
	}
}

// begins reports whether a text begins with a number of many digits, or with a large exponent.
func begins(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	count := len(text) - len(bytes.TrimLeft(text, ".0123456789"))
	exponent := text[count:min(len(text), count+5)]
	return count > maxLength || count > 0 && largeExponent.Match(exponent)
}

// Find returns at most limit undecodable quantities of a JSON value that is decoded into a type.
func Find(document any, into reflect.Type, limit int) []Undecodable {
	s := search{limit: limit}
	s.value(document, into, nil, nil)
	return s.found
}

type search struct {
	limit int
	found []Undecodable
}

func (s *search) value(value any, t reflect.Type, at []string, replace func(any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == quantity {
		if text, ok := value.(string); ok && tooLong(text) && replace != nil && len(s.found) < s.limit {
			s.found = append(s.found, Undecodable{Path: slices.Clone(at), Replace: replace})
		}
		return
	}
	switch value := value.(type) {
	case map[string]any:
		s.mapping(value, t, at)
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return // Decoding reports the wrong type.
		}
		for i, item := range value {
			s.value(item, t.Elem(), append(at, strconv.Itoa(i)), func(other any) { value[i] = other })
		}
	}
}

func (s *search) mapping(value map[string]any, t reflect.Type, at []string) {
	var typeOf func(key string) reflect.Type
	switch t.Kind() {
	case reflect.Map:
		typeOf = func(string) reflect.Type { return t.Elem() }
	case reflect.Struct:
		known := jsonfields.Of(t)
		typeOf = func(key string) reflect.Type { return known[key] }
	default:
		return // Decoding reports the wrong type.
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		if of := typeOf(key); of != nil {
			s.value(value[key], of, append(at, key), func(other any) { value[key] = other })
		}
	}
}

func tooLong(text string) bool { return len(text) > maxLength || largeExponent.MatchString(text) }
