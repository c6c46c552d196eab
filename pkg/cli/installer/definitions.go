package installer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

type definitionStore struct{ extensions apiextensions.Interface }

func (d definitionStore) get(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	return orNil(d.extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{}))
}

func (d definitionStore) open(ctx context.Context, s deploy.Step, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion, dryRun ...string) (*unstructured.Unstructured, error) {
	if s.Live == nil {
		next = next.DeepCopy()
		next.Annotations = s.Object.GetAnnotations() // They name the installation.
	}
	written, err := d.define(ctx, s, deploy.Opening, next, csv, dryRun...)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", next.Name, err)
	}
	return definitionObject(written)
}

func definitionObject(crd *apiextensionsv1.CustomResourceDefinition) (*unstructured.Unstructured, error) {
	if crd == nil {
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return object, err
}

// contested returns the step of a definition, which is to be adopted if another client owns a field that changes. A
// definition is patched, which never conflicts: a dry run of server-side apply shows the owners.
func (a applier) contested(ctx context.Context, s deploy.Step, next *unstructured.Unstructured) (deploy.Step, error) {
	client, err := a.clientFor(ctx, next)
	if err != nil {
		return s, err
	}
	others := slices.DeleteFunc(deploy.OtherManagers(s.Live), func(manager string) bool { return manager == wellknown.FieldManager })
	_, err = client.Apply(ctx, next.GetName(), deploy.Owned(next), metav1.ApplyOptions{FieldManager: deploy.FieldManager, DryRun: []string{metav1.DryRunAll}})
	switch {
	case deploy.ConflictsWith(err, others):
		return s.AsContested(), nil
	case err != nil && !apierrors.IsConflict(err):
		return s, fmt.Errorf("%s: %w", deploy.Title(next), err)
	}
	return s, nil
}

// decision is deploy.Opening or deploy.Settled.
type decision func(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceDefinition

// define writes a definition as it was read: server-side apply would remove fields
// that the manager has set since. Another definition than the one that was decided about is not written.
func (d definitionStore) define(ctx context.Context, s deploy.Step, decide decision, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion, dryRun ...string) (written *apiextensionsv1.CustomResourceDefinition, err error) {
	stale := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err = retry.OnError(retry.DefaultBackoff, stale, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		live, err := d.get(ctx, s.Object.GetName())
		if err != nil {
			return err
		}
		now, err := definitionObject(live)
		if err == nil {
			err = s.Outdated(now)
		}
		if err != nil {
			return err
		}
		if live == nil {
			written, err = d.extensions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, decide(nil, next, csv), metav1.CreateOptions{FieldManager: deploy.FieldManager, DryRun: dryRun})
		} else {
			written, err = d.change(ctx, live, decide(live, next, csv), dryRun...)
		}
		return err
	})
	return written, err
}

// change patches a definition if it is still the one that was read. Unknown fields stay as they are.
func (d definitionStore) change(ctx context.Context, live, next *apiextensionsv1.CustomResourceDefinition, dryRun ...string) (*apiextensionsv1.CustomResourceDefinition, error) {
	from, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(from, to, from)
	if err != nil || string(patch) == "{}" {
		return live, err
	}
	difference := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch, &difference.Object); err != nil {
		return nil, err
	}
	difference.SetUID(live.UID)
	difference.SetResourceVersion(live.ResourceVersion)
	if patch, err = json.Marshal(difference.Object); err != nil {
		return nil, err
	}
	return d.extensions.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, live.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: deploy.FieldManager, DryRun: dryRun})
}

func resourceOf(crd *apiextensionsv1.CustomResourceDefinition, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
}
