package write

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

func (w *Writer) setOwnersOf(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	i := slices.IndexFunc(owners.Kinds, func(k owners.Kind) bool { return k.Name == o.Kind })
	if i < 0 {
		return fmt.Errorf("no way to write the owner references of a %s", o.Kind)
	}
	return w.SetOwners(ctx, owners.Kinds[i], o, o.OwnerReferences)
}

// SetOwners has its own field manager, so that writes of other fields do not remove the references.
func (w *Writer) SetOwners(ctx context.Context, k owners.Kind, o metav1.Object, references []metav1.OwnerReference) error {
	client := w.Metadata.Resource(k.Resource).Namespace(o.GetNamespace())
	_, err := patch(ctx, client, o, wellknown.FieldManagerOwnerReferences, map[string]any{"ownerReferences": references}, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
