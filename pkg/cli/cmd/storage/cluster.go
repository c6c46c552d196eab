package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
)

type storageCluster struct {
	*cluster.Cluster
	apiServers

	name string
}

// newStorageCluster takes the addresses of all API servers, where the Service kubernetes does not have them.
func newStorageCluster(c *cluster.Cluster, crd string, addresses []string) *storageCluster {
	return &storageCluster{Cluster: c, name: crd, apiServers: apiServers{config: c.Config, kube: c.Kube, addresses: addresses}}
}

func (c *storageCluster) Definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	return c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, c.name, metav1.GetOptions{})
}

// Record writes the annotation. null deletes it.
func (c *storageCluster) Record(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	var value any
	if len(versions) > 0 {
		value = strings.Join(versions, ",")
	}
	return c.patch(ctx, crd, types.MergePatchType, map[string]any{"metadata": map[string]any{
		"resourceVersion": crd.ResourceVersion,
		"annotations":     map[string]any{wellknown.AnnotationStoredVersions: value},
	}})
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// asRead makes a patch of a changed definition a conflict: indexes in its paths are those of the definition as read.
func asRead(crd *apiextensionsv1.CustomResourceDefinition) operation {
	return operation{"replace", "/metadata/resourceVersion", crd.ResourceVersion}
}

// Store changes the field storage alone: an update would drop fields that this program does not know.
func (c *storageCluster) Store(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	operations := []operation{asRead(crd)}
	for i, v := range crd.Spec.Versions {
		operations = append(operations, operation{"replace", fmt.Sprintf("/spec/versions/%d/storage", i), v.Name == version})
	}
	return c.patch(ctx, crd, types.JSONPatchType, operations)
}

func (c *storageCluster) Restore(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	return c.patch(ctx, crd, types.JSONPatchType, []operation{asRead(crd), {"add", "/status/storedVersions", versions}}, "status")
}

func (c *storageCluster) Trim(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, only string) error {
	operations := []operation{asRead(crd), {"add", "/status/storedVersions", []string{only}}}
	if i := slices.IndexFunc(crd.Status.Conditions, storedversions.IsMigrating); i >= 0 {
		operations = append(operations, operation{Op: "remove", Path: fmt.Sprintf("/status/conditions/%d", i)})
	}
	return c.patch(ctx, crd, types.JSONPatchType, operations, "status")
}

func (c *storageCluster) patch(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, kind types.PatchType, content any, subresources ...string) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, kind, text, metav1.PatchOptions{FieldManager: wellknown.FieldManager}, subresources...)
	return err
}

// pageSize bounds what is held in memory, and what a token that expires costs.
const pageSize = 500

func (c *storageCluster) Page(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version, after string) (*unstructured.UnstructuredList, error) {
	return c.resource(crd, version).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: after})
}

func (c *storageCluster) Read(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.resource(crd, version).Namespace(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
}

func (c *storageCluster) Write(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) error {
	_, err := c.resource(crd, version).Namespace(object.GetNamespace()).Update(ctx, object, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	return err
}

func (c *storageCluster) resource(crd *apiextensionsv1.CustomResourceDefinition, version string) dynamic.NamespaceableResourceInterface {
	return c.Dynamic.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
}
