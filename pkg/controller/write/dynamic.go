package write

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// sendDynamic writes what an issuer or an operator reads, or takes it away.
func (w *Writer) sendDynamic(ctx context.Context, step rollout.Step, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, known := dynamicResources[o.GetKind()]
	if !known {
		return nil, fmt.Errorf("no way to write a %s", o.GetKind())
	}
	client := w.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	apply := func() (*unstructured.Unstructured, error) {
		return client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: wellknown.FieldManager, Force: true})
	}
	switch step.Verb {
	case rollout.Create:
		created, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
		if apierrors.IsAlreadyExists(err) {
			return apply()
		}
		return created, err
	case rollout.Update:
		return client.Update(ctx, o, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	case rollout.Patch:
		return mirror(ctx, client, o)
	case rollout.Delete:
		err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
		if apierrors.IsNotFound(err) {
			return o, nil
		}
		return o, err
	default:
		return apply()
	}
}

// mirror writes the conditions in the status of an OperatorCondition, unless it has changed since it
// was read.
func mirror(ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	conditions, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion()},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return nil, err
	}
	written, err := client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager}, "status")
	if apierrors.IsNotFound(err) {
		return o, nil
	}
	return written, err
}

// dynamicResources are the resources of the objects that issuers and operators read, by kind. The manager
// has no types for them, or separate caches.
var dynamicResources = map[string]schema.GroupVersionResource{
	"Certificate":                  issuers.Certificates,
	"Issuer":                       issuers.Issuers,
	"ConfigMap":                    informers.ConfigMaps,
	owners.OperatorConditions.Name: owners.OperatorConditions.Resource,
}
