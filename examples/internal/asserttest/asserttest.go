// Package asserttest has assertions of tests.
package asserttest

import (
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
