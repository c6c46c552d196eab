package bundle

import (
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantities = reflect.TypeFor[resource.Quantity]()

// maxQuantity is how many characters a quantity may have.
const maxQuantity = 64

// largeExponent is one of more than two digits. The library computes 10^exponent: a few characters take
// hours.
var largeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

// tooLong reports whether a quantity must not be decoded.
func tooLong(value any) bool {
	text, ok := value.(string)
	return ok && (len(text) > maxQuantity || largeExponent.MatchString(text))
}
