package cluster

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// definition is the one of that name, or nil.
func (c *Cluster) definition(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	live, err := c.extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// open writes a definition as it has to be before the operator is installed.
func (c *Cluster) open(ctx context.Context, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion, dryRun ...string) (*unstructured.Unstructured, error) {
	written, err := c.define(ctx, next.Name, func(live *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		return deploy.Opening(live, next, csv)
	}, dryRun...)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", next.Name, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(written)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return object, err
}

// settleDefinition writes a definition as the bundle has it, once the operator is installed.
func (c *Cluster) settleDefinition(ctx context.Context, next *apiextensionsv1.CustomResourceDefinition) error {
	_, err := c.define(ctx, next.Name, func(live *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		return deploy.Settled(live, next)
	})
	return err
}

// define updates a definition as it was read: server-side apply would take fields away
// that the manager has set since.
func (c *Cluster) define(ctx context.Context, name string, next func(live *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition, dryRun ...string) (*apiextensionsv1.CustomResourceDefinition, error) {
	client := c.extensions.ApiextensionsV1().CustomResourceDefinitions()
	for {
		live, err := c.definition(ctx, name)
		if err != nil {
			return nil, err
		}
		var written *apiextensionsv1.CustomResourceDefinition
		if live == nil {
			written, err = client.Create(ctx, next(nil), metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun})
		} else {
			written, err = client.Update(ctx, next(live), metav1.UpdateOptions{FieldManager: fieldManager, DryRun: dryRun})
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return written, err
		}
	}
}
