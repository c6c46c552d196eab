package apiserver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"
)

// routed is the storage of one resource in the handlers that all API servers of the process share. It has no objects: each
// request has its API server in its context, and that one has the storage.
type routed struct {
	config  cacher.Config
	backend *storagebackend.ConfigForResource
	cached  bool
	// owner is the API server of a custom resource; nil for a built-in kind.
	owner *Server
}

var _ storage.Interface = &routed{}

// route is a generic.StorageDecorator.
func route(
	backend *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	r := &routed{backend: backend, cached: backend.GroupResource.Resource != "events"} // as kube-apiserver
	r.config = cacher.Config{
		Versioner: storage.APIObjectVersioner{}, GroupResource: backend.GroupResource, EventsHistoryWindow: backend.EventsHistoryWindow,
		ResourcePrefix: prefix, KeyFunc: keyFunc, NewFunc: newFunc, NewListFunc: newListFunc, GetAttrsFunc: attributes,
		IndexerFuncs: triggers, Indexers: indexers, Codec: backend.Codec,
	}
	return r, func() { r.close() }, nil
}

var _ generic.StorageDecorator = route

// routeTo is route for the custom resources of one API server.
func routeTo(s *Server) generic.StorageDecorator {
	return func(
		backend *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		r, destroy, err := route(backend, prefix, keyFunc, newFunc, newListFunc, attributes, triggers, indexers)
		r.(*routed).owner = s
		return r, destroy, err
	}
}

// open returns the storage of the resource in an API server: kube-apiserver's watch cache on its storage in etcd.
func (r *routed) open(s *Server) (opened, error) {
	if err := s.ctx.Err(); err != nil {
		return opened{}, err
	}
	stored, err := etcd3.New(s.etcd.Kubernetes, nil, r.config.Codec, r.config.NewFunc, r.config.NewListFunc, etcdPrefix, r.config.ResourcePrefix,
		r.config.GroupResource, identity.NewEncryptCheckTransformer(), etcd3.NewDefaultLeaseManagerConfig(),
		etcd3.NewDefaultDecoder(r.config.Codec, r.config.Versioner), r.config.Versioner)
	if err != nil {
		return opened{}, err
	}
	if !r.cached {
		return opened{stored, stored.Close}, nil
	}
	config := r.config
	config.Storage = stored
	cached, err := cacher.NewCacherFromConfig(config)
	if err != nil {
		return opened{}, err
	}
	delegator := cacher.NewCacheDelegator(cached, stored)
	// kube-apiserver is ready after its caches are filled; until then it answers 429.
	filled := func(context.Context) (bool, error) { return delegator.ReadinessCheck() == nil, nil }
	_ = wait.PollUntilContextCancel(s.ctx, time.Millisecond, true, filled) // after the end of the context nothing is read
	return opened{delegator, func() { delegator.Stop(); cached.Stop(); stored.Close() }}, nil
}

// close is called when kube-apiserver would close the storage: when the definition of a custom resource changes.
func (r *routed) close() {
	if r.owner != nil {
		r.owner.storages.close(r)
	}
}

func (r *routed) in(ctx context.Context) (storage.Interface, error) {
	return serverFrom(ctx).storages.get(r)
}

func (r *routed) Versioner() storage.Versioner { return r.config.Versioner }

func (r *routed) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.Create(ctx, key, obj, out, ttl)
}

func (r *routed) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, existing runtime.Object, options storage.DeleteOptions,
) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.Delete(ctx, key, out, preconditions, validate, existing, options)
}

func (r *routed) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	s, err := r.in(ctx)
	if err != nil {
		return nil, err
	}
	return s.Watch(ctx, key, options)
}

func (r *routed) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.Get(ctx, key, options, out)
}

func (r *routed) GetList(ctx context.Context, key string, options storage.ListOptions, out runtime.Object) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.GetList(ctx, key, options, out)
}

func (r *routed) GuaranteedUpdate(
	ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, existing runtime.Object,
) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.GuaranteedUpdate(ctx, key, out, ignoreNotFound, preconditions, update, existing)
}

func (r *routed) Stats(ctx context.Context) (storage.Stats, error) {
	s, err := r.in(ctx)
	if err != nil {
		return storage.Stats{}, err
	}
	return s.Stats(ctx)
}

func (r *routed) RequestWatchProgress(ctx context.Context) error {
	s, err := r.in(ctx)
	if err != nil {
		return err
	}
	return s.RequestWatchProgress(ctx)
}

func (r *routed) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	s, err := r.in(ctx)
	if err != nil {
		return 0, err
	}
	return s.GetCurrentResourceVersion(ctx)
}

func (*routed) ReadinessCheck() error                               { return nil }
func (*routed) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }
func (*routed) CompactRevision() int64                              { return 0 }
