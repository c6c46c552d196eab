package write

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// sendDynamic writes with the permissions of an account. It returns an object that should not exist as existing.
func (w *Writer) sendDynamic(ctx context.Context, account dynamic.Interface, step rollout.Step, o *unstructured.Unstructured) (written, existing drift.Object, err error) {
	resource, known := dynamicResources[o.GetKind()]
	if !known {
		return nil, nil, fmt.Errorf("no way to write a %s", o.GetKind())
	}
	client, reader := account.Resource(resource).Namespace(o.GetNamespace()), w.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	if step.Verb == rollout.Apply && step.Live == nil {
		if existing, err := uncached(ctx, reader, o.GetName()); existing != nil || err != nil {
			return nil, existing, err
		}
	}
	switch step.Verb {
	case rollout.Create:
		created, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
		if apierrors.IsAlreadyExists(err) {
			existing, lost := uncached(ctx, reader, o.GetName())
			if existing == nil && lost == nil {
				lost = err // another client has deleted the object since: retry
			}
			return nil, existing, lost
		}
		return result(created, err)
	case rollout.Apply:
		// Without force, an object that another client has created since then is a conflict.
		options := metav1.ApplyOptions{FieldManager: wellknown.FieldManager, Force: step.Live != nil}
		return result(client.Apply(ctx, o.GetName(), o, options))
	case rollout.Update:
		return result(client.Update(ctx, o, metav1.UpdateOptions{FieldManager: wellknown.FieldManager}))
	case rollout.Patch:
		return result(mirror(ctx, client, o))
	default:
		err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
		return result(o, utilerrors.FilterOut(err, apierrors.IsNotFound))
	}
}

// uncached returns an object that the caches do not select, or do not show yet. An apply would change an object
// of another client. It is a list, because the manager may not get ConfigMaps and Issuers.
func uncached(ctx context.Context, client dynamic.ResourceInterface, name string) (drift.Object, error) {
	list, err := client.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		return nil, err
	}
	for _, o := range list.Items {
		if o.GetName() == name {
			return &o, nil
		}
	}
	return nil, nil
}

func mirror(ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	conditions, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	written, err := patch(ctx, client, o, wellknown.FieldManager, nil, map[string]any{"status": map[string]any{"conditions": conditions}}, "status")
	if apierrors.IsNotFound(err) {
		return o, nil
	}
	return written, err
}

// The manager has no types for the objects of these resources, or separate caches.
var dynamicResources = func() map[string]schema.GroupVersionResource {
	all := issuers.Resources()
	all[owners.OperatorConditions.Name] = owners.OperatorConditions.Resource
	return all
}()
