package limits

import (
	"bytes"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Cost is the memory that decoded values need at most. The factors are measured: lists grow by copies, and a mutating
// handler has a copy of its object.
type Cost struct {
	object int64 // bytes of each JSON object
	field  int64 // bytes of each field of an object, without its value: it may be the key of a map
	value  int64 // bytes of each other value
	raw    bool  // the fields of managed fields are not decoded
}

// Factors for CostOf.
const (
	ValidatingFactor = 3
	MutatingFactor   = 4
	ConversionFactor = 6 // from the version in the request, through the hub, to the desired one
)

const (
	untypedObject = 300
	anyField      = 75
	anyValue      = 25
	// listedObject is the memory of each object of a ConversionReview before it is converted.
	listedObject = 64
)

// CostOf returns the cost of values that are decoded into a type.
func CostOf(t reflect.Type, factor int64) Cost {
	untyped := t.Implements(reflect.TypeFor[runtime.Unstructured]())
	return Cost{object: factor * max(untypedObject, largestElement(t)), field: factor * anyField, value: factor * anyValue, raw: !untyped}
}

// Or returns the larger cost of two types, of which either may be decoded.
func (c Cost) Or(other Cost) Cost {
	c.object = max(c.object, other.object)
	c.raw = c.raw && other.raw
	return c
}

// largestElement returns the size of the largest struct of which an object of the type can have many.
func largestElement(t reflect.Type) int64 {
	var largest int64
	type position struct {
		t    reflect.Type
		many bool
	}
	seen := map[position]bool{}
	var visit func(p position)
	visit = func(p position) {
		if seen[p] {
			return
		}
		seen[p] = true
		switch p.t.Kind() {
		case reflect.Pointer:
			visit(position{p.t.Elem(), p.many})
		case reflect.Slice, reflect.Array, reflect.Map:
			visit(position{p.t.Elem(), true})
		case reflect.Struct:
			if p.many {
				largest = max(largest, int64(p.t.Size()))
			}
			for i := range p.t.NumField() {
				visit(position{p.t.Field(i).Type, p.many})
			}
		default: // has no elements
		}
	}
	visit(position{t, false})
	return largest
}

// roughCost is the cost up to which only characters are counted: to scan each value takes a tenth of the decoding time.
const roughCost = 1 << 20

// Of returns the cost of an AdmissionReview.
func (c Cost) Of(body []byte) int64 {
	count := func(character string) int64 { return int64(bytes.Count(body, []byte(character))) }
	most := c.times(shape{objects: count("{"), fields: count(":"), values: count(",") + count("[")})
	if most <= roughCost {
		return most // strings may contain these characters, too
	}
	s := scan{text: body, raw: c.raw, objectDepth: 3}
	s.run()
	return c.times(s.all)
}

// OfLargest returns the cost of a ConversionReview, of which one object is decoded at a time.
func (c Cost) OfLargest(body []byte) int64 {
	s := scan{text: body, raw: c.raw, objectDepth: 4}
	s.run()
	return c.times(s.largest) + listedObject*s.all.objects
}

func (c Cost) times(s shape) int64 { return c.object*s.objects + c.field*s.fields + c.value*s.values }

// shape is the number of values in a JSON text: objects, their fields, and an upper limit for others.
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

type scan struct {
	text         []byte
	raw          bool  // metadata.managedFields[].fieldsV1 is not counted: it is not decoded
	objectDepth  int   // of the objects in the review
	all, largest shape // largest is the largest shape of one object

	depth   int
	current shape // of the object
	managed bool  // whether the scan is in the field managedFields of the object's metadata
	skip    int   // the depth of the part that is not counted; 0 for none
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
		s.skip = 0 // the skipped value was not an object
	}
	s.counted(',')
}

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
