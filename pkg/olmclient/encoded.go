package olmclient

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Encoded reads and writes objects in JSON. The answers to its writes have only metadata.
type Encoded struct {
	client              rest.Interface
	resource, namespace string
}

// EncodedClusterServiceVersions returns the client of the ClusterServiceVersions in a namespace.
func (c *Client) EncodedClusterServiceVersions(namespace string) Encoded {
	return Encoded{client: c.operatorsV1alpha1, resource: "clusterserviceversions", namespace: namespace}
}

// Get returns an object.
func (e Encoded) Get(ctx context.Context, name string) ([]byte, error) {
	return e.client.Get().Namespace(e.namespace).Resource(e.resource).Name(name).Do(ctx).Raw()
}

// Create creates an object.
func (e Encoded) Create(ctx context.Context, body []byte, options metav1.CreateOptions) (*metav1.PartialObjectMetadata, error) {
	return e.write(ctx, e.client.Post(), &options, body)
}

// Update replaces an object, or one of its subresources.
func (e Encoded) Update(ctx context.Context, name string, body []byte, options metav1.UpdateOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	return e.write(ctx, e.client.Put().Name(name).SubResource(subresources...), &options, body)
}

func (e Encoded) write(ctx context.Context, request *rest.Request, options runtime.Object, body []byte) (*metav1.PartialObjectMetadata, error) {
	// The second type is for the refusal of a request.
	const accepted = runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=" + metav1.GroupName + ";v=v1," + runtime.ContentTypeJSON
	result := request.Namespace(e.namespace).Resource(e.resource).VersionedParams(options, parameters).
		SetHeader("Content-Type", runtime.ContentTypeJSON).
		SetHeader("Accept", accepted).
		Body(body).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	written := &metav1.PartialObjectMetadata{}
	return written, json.Unmarshal(answer, written)
}
