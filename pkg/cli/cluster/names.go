package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// What shells may ask the names of.
var (
	Namespaces             = corev1.SchemeGroupVersion.WithResource("namespaces")
	Definitions            = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	ClusterServiceVersions = operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")
)

// Names are those of all objects of a resource, in one namespace where it is not empty.
func (c *Cluster) Names(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	list, err := c.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i, object := range list.Items {
		names[i] = object.Name
	}
	return names, nil
}
