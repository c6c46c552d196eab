package write

import (
	"context"
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type patcher[T any] interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

// Metadata writes fields of the metadata of an object, unless it has changed since it was read.
func Metadata[T any](ctx context.Context, client patcher[T], o metav1.Object, fields map[string]any) (T, error) {
	return patch(ctx, client, o, wellknown.FieldManager, fields, nil)
}

func patch[T any](ctx context.Context, client patcher[T], o metav1.Object, manager string, metadata, parts map[string]any, subresources ...string) (written T, err error) {
	precondition := map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion()}
	maps.Copy(precondition, metadata)
	body := map[string]any{"metadata": precondition}
	maps.Copy(body, parts)
	data, err := json.Marshal(body)
	if err != nil {
		return written, err
	}
	return client.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager}, subresources...)
}
