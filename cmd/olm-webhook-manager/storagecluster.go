package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// storageCluster does what a storage migration decides.
type storageCluster struct {
	config     *rest.Config
	name       string
	kube       kubernetes.Interface
	extensions apiextensions.Interface
	objects    dynamic.Interface
}

func newStorageCluster(config *rest.Config, crd string) (*storageCluster, error) {
	c := &storageCluster{config: config, name: crd}
	var err error
	if c.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.extensions, err = apiextensions.NewForConfig(config); err != nil {
		return nil, err
	}
	c.objects, err = dynamic.NewForConfig(config)
	return c, err
}

func (c *storageCluster) Definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	return c.extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, c.name, metav1.GetOptions{})
}

// Store writes spec.versions whole, guarded: a JSON patch by index would hit another
// version where somebody has inserted one.
func (c *storageCluster) Store(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	updated := crd.DeepCopy()
	for i := range updated.Spec.Versions {
		updated.Spec.Versions[i].Storage = updated.Spec.Versions[i].Name == version
	}
	_, err := c.extensions.ApiextensionsV1().CustomResourceDefinitions().Update(ctx, updated, metav1.UpdateOptions{FieldManager: vocabulary.FieldManager})
	return err
}

// Hashes asks the API server that the kubeconfig names, and every one that the Service
// kubernetes knows: behind one address there may be many.
func (c *storageCluster) Hashes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]string, error) {
	slices, err := c.kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubernetes"})
	if err != nil {
		return nil, err
	}
	servers := []*rest.Config{c.config}
	for _, slice := range slices.Items {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				server := rest.CopyConfig(c.config)
				server.Host = "https://" + net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port)))
				if server.ServerName == "" {
					server.ServerName = "kubernetes.default.svc" // by which every API server is known, whatever its address
				}
				servers = append(servers, server)
			}
		}
	}
	var hashes []string
	for _, server := range servers {
		hash, err := hashFrom(server, crd, version)
		if err != nil {
			return nil, fmt.Errorf("API server %s: %w", server.Host, err)
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

func hashFrom(server *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, version string) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(server)
	if err != nil {
		return "", err
	}
	list, err := client.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version)
	if err != nil {
		return "", err
	}
	for _, r := range list.APIResources {
		if r.Name == crd.Spec.Names.Plural {
			return r.StorageVersionHash, nil
		}
	}
	return "", fmt.Errorf("does not serve %s in %s yet", crd.Name, version)
}

// pageSize bounds what is held in memory, and what a token that expires costs.
const pageSize = 500

func (c *storageCluster) Page(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version, after string) (*unstructured.UnstructuredList, error) {
	return c.resource(crd, version).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: after})
}

func (c *storageCluster) Read(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.beside(crd, version, object).Get(ctx, object.GetName(), metav1.GetOptions{})
}

func (c *storageCluster) Write(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) error {
	_, err := c.beside(crd, version, object).Update(ctx, object, metav1.UpdateOptions{FieldManager: vocabulary.FieldManager})
	return err
}

func (c *storageCluster) Forget(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, only string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": crd.UID, "resourceVersion": crd.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{only}},
	})
	if err != nil {
		return err
	}
	_, err = c.extensions.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: vocabulary.FieldManager}, "status")
	return err
}

// Order leaves the choice of a name to the API server: whoever runs the command again needs another.
func (c *storageCluster) Order(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (string, error) {
	order := &storagemigrationv1beta1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: crd.Name + "-"},
		Spec:       storagemigrationv1beta1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}},
	}
	created, err := c.kube.StoragemigrationV1beta1().StorageVersionMigrations().Create(ctx, order, metav1.CreateOptions{FieldManager: vocabulary.FieldManager})
	if err != nil {
		return "", err
	}
	return created.Name, nil
}

func (c *storageCluster) Ordered(ctx context.Context, name string) (*storagemigrationv1beta1.StorageVersionMigration, error) {
	return c.kube.StoragemigrationV1beta1().StorageVersionMigrations().Get(ctx, name, metav1.GetOptions{})
}

func (c *storageCluster) Withdraw(ctx context.Context, name string) error {
	return c.kube.StoragemigrationV1beta1().StorageVersionMigrations().Delete(ctx, name, metav1.DeleteOptions{})
}

func (c *storageCluster) resource(crd *apiextensionsv1.CustomResourceDefinition, version string) dynamic.NamespaceableResourceInterface {
	return c.objects.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
}

// beside are the objects in the namespace of one, if it has any.
func (c *storageCluster) beside(crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) dynamic.ResourceInterface {
	if object.GetNamespace() == "" {
		return c.resource(crd, version)
	}
	return c.resource(crd, version).Namespace(object.GetNamespace())
}
