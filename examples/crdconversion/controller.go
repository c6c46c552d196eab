package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const fieldManager = "crdconversion"

type controller struct {
	version string
	client  dynamic.NamespaceableResourceInterface
	lister  cache.GenericLister
}

func (c *controller) Run(ctx context.Context, env hosting.Environment) error {
	if c.version != convert.V1.Version && c.version != convert.V2.Version {
		return fmt.Errorf("--cache-version=%s: there are %s and %s", c.version, convert.V1.Version, convert.V2.Version)
	}
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return err
	}
	caches := schema.GroupVersionResource{Group: convert.Group, Version: c.version, Resource: convert.Resource}
	c.client = client.Resource(caches)
	reports := hosting.NewWorklist("report on Cache", c.report)
	c.lister, err = hosting.Watch(ctx, client, caches, hosting.ResourceHandler{Updated: func(object *unstructured.Unstructured) {
		reports.Add(cache.MetaObjectToName(object))
	}})
	if err != nil {
		return err
	}
	reports.Run(ctx)
	return nil
}

func (c *controller) report(ctx context.Context, name cache.ObjectName) error {
	obj, err := c.lister.ByNamespace(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	reported := obj.(*unstructured.Unstructured)
	status, err := statusOf(reported)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(reported.Object["status"], any(status)) {
		return nil
	}
	updated := reported.DeepCopy()
	updated.Object["status"] = status
	_, err = c.client.Namespace(name.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// statusOf returns the status of a Cache of either version: the memory of all its replicas.
func statusOf(object *unstructured.Unstructured) (map[string]any, error) {
	spec, err := specInV2(object)
	if err != nil {
		return nil, err
	}
	replicas, _, err := unstructured.NestedInt64(spec, "replicas")
	if err != nil {
		return nil, err
	}
	text, _, err := unstructured.NestedString(spec, "resources", "memory")
	if err != nil {
		return nil, err
	}
	memory, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, fmt.Errorf("its memory %q: %w", text, err)
	}
	memory.Mul(replicas)
	return map[string]any{
		"memory":             memory.String(),
		"observedGeneration": object.GetGeneration(),
	}, nil
}

func specInV2(object *unstructured.Unstructured) (map[string]any, error) {
	if object.GroupVersionKind().Version == convert.V1.Version {
		v2 := &unstructured.Unstructured{Object: map[string]any{}}
		if err := convert.ToV2(object, v2); err != nil {
			return nil, err
		}
		object = v2
	}
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	return spec, err
}
