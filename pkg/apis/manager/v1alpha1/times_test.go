package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API conventions of Kubernetes want names that end in Time. NotBefore and NotAfter are terms of X.509. The interval of an
// opening has the names of its bounds.
func TestNamesOfTimes(t *testing.T) {
	found := 0
	for kind, field := range fieldsOf(reflect.TypeFor[WebhookRolloutStatus]()) {
		if kind != reflect.TypeFor[metav1.Time]() && kind != reflect.TypeFor[metav1.MicroTime]() {
			continue
		}
		found++
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !slices.Contains([]string{"notBefore", "notAfter", "from", "allFrom", "until", "unreachableSince"}, name) && !strings.HasSuffix(name, "Time") {
			t.Errorf("the field %s, in JSON %s, is a time: its name has to end in Time", field.Name, name)
		}
		if !strings.EqualFold(field.Name, name) {
			t.Errorf("the field %s has another name in JSON: %s", field.Name, name)
		}
	}
	if found == 0 {
		t.Error("no field is a time")
	}
}

// fieldsOf returns the fields of a type and of the types in them, each with the type that it holds.
func fieldsOf(holder reflect.Type) func(yield func(reflect.Type, reflect.StructField) bool) {
	return func(yield func(reflect.Type, reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(holder) {
			kind := field.Type
			for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
				kind = kind.Elem()
			}
			if !yield(kind, field) {
				return
			}
			if kind.Kind() == reflect.Struct && kind.PkgPath() == holder.PkgPath() {
				fieldsOf(kind)(yield)
			}
		}
	}
}
