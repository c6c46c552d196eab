package apiserver

import (
	"context"
	"fmt"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

const (
	etcdPrefix = "/registry"
	// historyWindow is kube-apiserver's default.
	historyWindow = 75 * time.Second
)

// builtIn has the storage options of built-in kinds of a scheme. They are stored in version v1, as protobuf.
type builtIn struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

func (b builtIn) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	codec, _, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType: runtime.ContentTypeProtobuf, StorageSerializer: b.codecs,
		StorageVersion: schema.GroupVersion{Group: resource.Group, Version: "v1"},
		MemoryVersion:  schema.GroupVersion{Group: resource.Group, Version: runtime.APIVersionInternal},
	})
	if err != nil {
		return generic.RESTOptions{}, fmt.Errorf("%s: %w", resource, err)
	}
	return restOptions(resource, codec), nil
}

// custom has the storage options of the custom resources of one API server. They are stored as JSON.
type custom struct{ server *Server }

func (c custom) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	options := restOptions(resource, unstructured.UnstructuredJSONScheme)
	options.Decorator = routeTo(c.server)
	return options, nil
}

func restOptions(resource schema.GroupResource, codec runtime.Codec) generic.RESTOptions {
	config := &storagebackend.ConfigForResource{GroupResource: resource}
	config.Codec, config.EventsHistoryWindow = codec, historyWindow
	return generic.RESTOptions{
		StorageConfig: config, Decorator: route, EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
		ResourcePrefix: path.Join("/", resource.Group, resource.Resource),
	}
}

type serverKey struct{}

// withServer returns a context of requests that a server answers.
func withServer(ctx context.Context, s *Server) context.Context {
	return context.WithValue(ctx, serverKey{}, s)
}

// serverFrom returns the server that answers the request of the context.
func serverFrom(ctx context.Context) *Server {
	return ctx.Value(serverKey{}).(*Server)
}
