package kube

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// The functions below are requests of a typed client that must succeed: the test ends if one fails.
// Each uses the context of the test.

type creator[O any] interface {
	Create(ctx context.Context, object O, options metav1.CreateOptions) (O, error)
}

// Create creates an object and returns it as it is stored.
func Create[O any](t testing.TB, client creator[O], object O) O {
	t.Helper()
	created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	must(t, err)
	return created
}

// CreateTemporary creates an object that is deleted when the test ends.
func CreateTemporary[O metav1.Object](t testing.TB, client interface {
	creator[O]
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}, object O) O {
	t.Helper()
	created := Create(t, client, object)
	t.Cleanup(func() {
		must(t, client.Delete(context.WithoutCancel(t.Context()), created.GetName(), metav1.DeleteOptions{}))
	})
	return created
}

// Get reads an object that exists.
func Get[O any](t testing.TB, client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
}, name string) O {
	t.Helper()
	object, err := client.Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return object
}

// List reads a list of objects.
func List[L any](t testing.TB, client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
}, options metav1.ListOptions) L {
	t.Helper()
	list, err := client.List(t.Context(), options)
	must(t, err)
	return list
}

// Update updates an object and returns it as it is stored.
func Update[O any](t testing.TB, client interface {
	Update(ctx context.Context, object O, options metav1.UpdateOptions) (O, error)
}, object O) O {
	t.Helper()
	updated, err := client.Update(t.Context(), object, metav1.UpdateOptions{})
	must(t, err)
	return updated
}

// UpdateStatus updates the status of an object.
func UpdateStatus[O any](t testing.TB, client interface {
	UpdateStatus(ctx context.Context, object O, options metav1.UpdateOptions) (O, error)
}, object O) O {
	t.Helper()
	updated, err := client.UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	must(t, err)
	return updated
}

// Patch patches an object, or a subresource of it.
func Patch[O any](t testing.TB, client interface {
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (O, error)
}, name string, kind types.PatchType, patch []byte, subresources ...string) O {
	t.Helper()
	patched, err := client.Patch(t.Context(), name, kind, patch, metav1.PatchOptions{}, subresources...)
	must(t, err)
	return patched
}

// Watch watches objects until the test ends.
func Watch(t testing.TB, client interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, options metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := client.Watch(t.Context(), options)
	must(t, err)
	t.Cleanup(w.Stop)
	return w
}

// Equals returns a condition that holds when what is observed equals want. An empty list equals nil.
func Equals[T any](observe func() T, want T) func() (ok bool, seen any) {
	return func() (bool, any) {
		got := observe()
		return cmp.Equal(got, want, cmpopts.EquateEmpty()), got
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// AwaitRemoval waits until a deleted object no longer exists. The controller that finalizes definitions ignores one that
// another client writes at the same time, until it changes again. So AwaitRemoval changes it, after ever longer pauses.
func AwaitRemoval(ctx context.Context, resource dynamic.ResourceInterface, name string) error {
	const limit = time.Minute
	since, untouched := time.Now(), 500*time.Millisecond
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		live, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err == nil && live.GetDeletionTimestamp() != nil && time.Since(since) > untouched {
			since, untouched = time.Now(), 2*untouched
			change := fmt.Sprintf(`{"metadata": {"annotations": {"waited-for": %q}}}`, since)
			_, err = resource.Patch(ctx, name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
		}
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}
