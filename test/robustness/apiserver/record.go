package apiserver

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// Recorder observes a cluster. Its methods are called concurrently, except that writes arrive one by one in the order of their
// revisions. They must not send requests.
type Recorder interface {
	Read(Request)
	Write(Write)
	// Call is called after the answer.
	Call(Call)
}

// Write is one change of an object in etcd. Decode returns the object before and after it.
type Write struct {
	etcd.Change
	Server          string
	User, UserAgent string
	// Info is the request that caused the write.
	Info request.RequestInfo
}

type userAgentKey struct{}

func withUserAgent(ctx context.Context, agent string) context.Context {
	return context.WithValue(ctx, userAgentKey{}, agent)
}

func (c *Cluster) recordRead(r Request) {
	if c.Recorder != nil && !r.Writes() {
		c.Recorder.Read(r)
	}
}

func (c *Cluster) recordWrite(ctx context.Context, change etcd.Change) {
	if c.Recorder == nil || !strings.HasPrefix(change.Key, etcdPrefix) {
		return
	}
	w := Write{Change: change}
	if s, ok := ctx.Value(serverKey{}).(*Server); ok {
		w.Server = s.Name
	}
	if u, ok := request.UserFrom(ctx); ok {
		w.User = u.GetName()
	}
	if info, ok := request.RequestInfoFrom(ctx); ok {
		w.Info = *info
	}
	w.UserAgent, _ = ctx.Value(userAgentKey{}).(string)
	c.Recorder.Write(w)
}
