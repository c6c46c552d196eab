package hosting

import (
	"bytes"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// cost is what the values of a body take at most when they are decoded into a handler's types. The factors
// are measured: lists grow by copies, and a mutating handler has a copy of its object.
type cost struct {
	object int64 // bytes of each JSON object
	field  int64 // bytes of each field of an object, beside its value: it may be the key of a map
	value  int64 // bytes of each other value
	raw    bool  // the fields of managed fields are not decoded
}

const (
	validatingFactor = 3
	mutatingFactor   = 4
	conversionFactor = 6 // from the version that came, over the hub, to the wanted one
	untypedObject    = 300
	anyField         = 75
	anyValue         = 25
	// listedObject is what each object of a ConversionReview takes before it is converted.
	listedObject = 64
)

// costOf is the cost of values that are decoded into a type.
func costOf(t reflect.Type, factor int64) cost {
	untyped := t.Implements(reflect.TypeFor[runtime.Unstructured]())
	return cost{object: factor * max(untypedObject, largestElement(t)), field: factor * anyField, value: factor * anyValue, raw: !untyped}
}

// largestElement is the size of the largest struct of which an object of the type can have many.
func largestElement(t reflect.Type) int64 {
	var largest int64
	type place struct {
		t    reflect.Type
		many bool
	}
	seen := map[place]bool{}
	var visit func(p place)
	visit = func(p place) {
		if seen[p] {
			return
		}
		seen[p] = true
		switch p.t.Kind() {
		case reflect.Pointer:
			visit(place{p.t.Elem(), p.many})
		case reflect.Slice, reflect.Array, reflect.Map:
			visit(place{p.t.Elem(), true})
		case reflect.Struct:
			if p.many {
				largest = max(largest, int64(p.t.Size()))
			}
			for i := range p.t.NumField() {
				visit(place{p.t.Field(i).Type, p.many})
			}
		default: // has no elements
		}
	}
	visit(place{t, false})
	return largest
}

// roughCost is up to which cost of a review nothing but characters are counted. Nearly all reviews are
// below it, and to look at each value takes a tenth of the time that decoding takes.
const roughCost = 1 << 20

// of is what the values of an AdmissionReview take.
func (c cost) of(body []byte) int64 {
	count := func(character string) int64 { return int64(bytes.Count(body, []byte(character))) }
	most := c.times(shape{objects: count("{"), fields: count(":"), values: count(",") + count("[")})
	if most <= roughCost {
		return most // strings may have some of these characters, too
	}
	s := scan{text: body, raw: c.raw, objectDepth: 3}
	s.run()
	return c.times(s.all)
}

// ofLargest is what the objects of a ConversionReview take, of which one is decoded at a time.
func (c cost) ofLargest(body []byte) int64 {
	s := scan{text: body, raw: c.raw, objectDepth: 4}
	s.run()
	return c.times(s.largest) + listedObject*s.all.objects
}

func (c cost) times(s shape) int64 { return c.object*s.objects + c.field*s.fields + c.value*s.values }

// shape is how many values a JSON text has: objects, their fields, and at most so many others.
type shape struct{ objects, fields, values int64 }

func (s shape) all() int64 { return s.objects + s.fields + s.values }

func (s *shape) count(c byte) {
	switch c {
	case '{':
		s.objects++
	case ':':
		s.fields++
	default:
		s.values++
	}
}

// scan counts the values of a review.
type scan struct {
	text        []byte
	raw         bool // metadata.managedFields[].fieldsV1 is left out: it is not decoded
	objectDepth int  // of the objects in the review

	all, largest shape // largest is that of one object

	depth   int
	current shape // of the object
	managed bool  // in a field of the object's metadata that is called managedFields
	skip    int   // the depth of what is left out; 0 for nothing
}

func (s *scan) run() {
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case '"':
			end := stringEnd(s.text, i+1)
			s.name(string(s.text[i+1 : end]))
			i = end
		case '{', '[':
			s.begin(c)
		case '}', ']':
			s.end()
		case ',':
			s.comma()
		case ':':
			s.counted(c)
		default:
		}
	}
}

// name regards a string that may be the name of a field.
func (s *scan) name(text string) {
	switch s.depth {
	case s.objectDepth + 1:
		s.managed = text == "managedFields"
	case s.objectDepth + 3:
		if s.raw && s.managed && s.skip == 0 && text == "fieldsV1" {
			s.skip = s.depth + 1
		}
	default:
	}
}

func (s *scan) begin(c byte) {
	s.depth++
	if s.depth == s.objectDepth {
		s.current = shape{}
	}
	s.counted(c)
}

// counted counts a character, unless it is in what is left out.
func (s *scan) counted(c byte) {
	if s.skip == 0 {
		s.all.count(c)
		s.current.count(c)
	}
}

func (s *scan) end() {
	if s.depth == s.objectDepth && s.current.all() > s.largest.all() {
		s.largest = s.current
	}
	if s.depth == s.skip {
		s.skip = 0
	}
	s.depth--
}

func (s *scan) comma() {
	if s.depth < s.skip {
		s.skip = 0 // what was left out was no object
	}
	s.counted(',')
}

// stringEnd is the place of the quotation mark that ends a string.
func stringEnd(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		default:
		}
	}
	return len(text)
}
