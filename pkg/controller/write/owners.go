package write

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// SetOwners writes the owner references of an object, if it is still what was looked at. It
// does so under a name of its own: to the writer of the rest they are somebody else's.
func (w *Writer) SetOwners(ctx context.Context, k owners.Kind, o metav1.Object, references []metav1.OwnerReference) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "ownerReferences": references,
	}})
	if err != nil {
		return err
	}
	_, err = w.Metadata.Resource(k.Resource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManagerOwnerReferences})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
