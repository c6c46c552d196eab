package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// AwaitRemoval waits until an object no longer exists that a client deletes. The controller that finalizes
// definitions leaves one alone that another client wrote to at the same time, as happens to one
// that is young, until it changes again; and so it does, after ever longer, as a change is
// what another client writes, too.
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
