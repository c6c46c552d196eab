package installtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same fails the test if two values differ.
func Same(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Contains fails the test if got does not contain want, or if want is empty and got is not.
func Contains(t testing.TB, what, want, got string) {
	t.Helper()
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
