package kube

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Eventually waits until a condition holds, and fails the test with what the condition observed last.
func Eventually(t testing.TB, what string, condition func() (ok bool, seen any)) {
	t.Helper()
	Within(t, 2*time.Minute, what, condition)
}

// Within is Eventually with a limit.
func Within(t testing.TB, limit time.Duration, what string, condition func() (ok bool, seen any)) {
	t.Helper()
	var last any
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		t.Fatalf("not within %s: %s; last observed: %+v", limit, what, last)
	}
}
