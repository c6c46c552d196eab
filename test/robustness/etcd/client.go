package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// Client is the connection of one API server to the store.
type Client struct {
	// Kubernetes is the client in the form that k8s.io/apiserver uses.
	Kubernetes *kubernetes.Client

	store *Store
	view  view
}

// NewClient returns a client, whose watches end with the context.
func (s *Store) NewClient(ctx context.Context) *Client {
	c := &Client{store: s, view: newView()}
	client := clientv3.NewCtxClient(ctx)
	client.KV, client.Watcher, client.Lease = kv{store: s}, watcher{client: c}, leases{}
	c.Kubernetes = &kubernetes.Client{Client: client, Kubernetes: operations{s}}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clients = append(s.clients, c)
	return c
}

// operations are the operations that k8s.io/apiserver requires.
type operations struct{ *Store }

func (o operations) Get(ctx context.Context, key string, options kubernetes.GetOptions) (kubernetes.GetResponse, error) {
	if err := ctx.Err(); err != nil {
		return kubernetes.GetResponse{}, err
	}
	value, revision, err := o.Store.Get(key, options.Revision)
	return kubernetes.GetResponse{KV: value, Revision: revision}, err
}

func (o operations) List(ctx context.Context, prefix string, options kubernetes.ListOptions) (kubernetes.ListResponse, error) {
	if err := ctx.Err(); err != nil {
		return kubernetes.ListResponse{}, err
	}
	start := prefix
	if options.Continue != "" {
		start = options.Continue
	}
	values, total, revision, err := o.Range(start, clientv3.GetPrefixRangeEnd(prefix), options.Revision, options.Limit)
	return kubernetes.ListResponse{Kvs: values, Count: total, Revision: revision}, err
}

func (o operations) Count(_ context.Context, prefix string, _ kubernetes.CountOptions) (int64, error) {
	_, total, _, err := o.Range(prefix, clientv3.GetPrefixRangeEnd(prefix), 0, 1)
	return total, err
}

func (o operations) OptimisticPut(ctx context.Context, key string, value []byte, expected int64, options kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	if err := ctx.Err(); err != nil {
		return kubernetes.PutResponse{}, err
	}
	before, revision, ok := o.Put(ctx, key, value, expected, int64(options.LeaseID))
	response := kubernetes.PutResponse{Succeeded: ok, Revision: revision}
	if options.GetOnFailure && !ok {
		response.KV = before
	}
	return response, nil
}

func (o operations) OptimisticDelete(ctx context.Context, key string, expected int64, options kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	if err := ctx.Err(); err != nil {
		return kubernetes.DeleteResponse{}, err
	}
	before, revision, ok := o.Delete(ctx, key, expected)
	response := kubernetes.DeleteResponse{Succeeded: ok, Revision: revision}
	if options.GetOnFailure && !ok {
		response.KV = before
	}
	return response, nil
}

// kv is the general form of reads, which a watch with initial events uses.
type kv struct {
	clientv3.KV
	store *Store
}

func (k kv) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	op := clientv3.OpGet(key, options...)
	end := string(op.RangeBytes())
	if end == "" {
		end = key + "\x00"
	}
	values, total, revision, err := k.store.Range(key, end, op.Rev(), op.Limit())
	if err != nil {
		return nil, err
	}
	return &clientv3.GetResponse{
		Header: &etcdserverpb.ResponseHeader{Revision: revision}, Kvs: values, Count: total, More: int64(len(values)) < total,
	}, nil
}

// leases are granted and never expire.
type leases struct{ clientv3.Lease }

func (leases) Grant(_ context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	return &clientv3.LeaseGrantResponse{ID: 1, TTL: ttl}, nil
}

func (leases) Close() error { return nil }
