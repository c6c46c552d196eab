package installtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same fails the test if two values differ.
func Same[T any](t testing.TB, what string, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// None fails the test if a list is not empty.
func None[T any](t testing.TB, what string, got []T) {
	t.Helper()
	if len(got) > 0 {
		t.Errorf("%s: %v, want none", what, got)
	}
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OrPanic returns a value, or panics if err is not nil. It is for calls that fail only if the test
// itself is wrong.
func OrPanic[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Says fails the test if got does not contain want, or if want is empty and got is not.
func Says(t testing.TB, what, want, got string) {
	t.Helper()
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// Prefix fails the test if got does not begin with want.
func Prefix(t testing.TB, what, want, got string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s is %q, want it to begin with %q", what, got, want)
	}
}

// ErrorIs fails the test unless err is or wraps a certain error.
func ErrorIs(t testing.TB, want, err error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

// Error fails the test unless err contains a text. An empty text stands for no error.
func Error(t testing.TB, want string, err error) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// Contains fails the test for each part that a text lacks.
func Contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// Among fails the test for each text that a list lacks.
func Among(t testing.TB, list []string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.Contains(list, text) {
			t.Errorf("%q is not among %q", text, list)
		}
	}
}

// ContainsEach fails the test unless there is a text for each part, which contains it.
func ContainsEach(t testing.TB, texts, parts []string) {
	t.Helper()
	if len(texts) != len(parts) {
		t.Fatalf("got %q, want %q", texts, parts)
	}
	for i, part := range parts {
		Contains(t, texts[i], part)
	}
}
