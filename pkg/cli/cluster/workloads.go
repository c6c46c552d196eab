package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

func (c *Cluster) workloads(ctx context.Context, services map[types.NamespacedName]doctor.Service) error {
	type look struct {
		doctor.Workloads
		unread []string
	}
	looks := map[string]look{}
	for name, s := range services {
		if s.ExternalEndpoints {
			continue
		}
		seen, looked := looks[name.Namespace]
		if !looked {
			var err error
			if seen.Workloads, seen.unread, err = c.workloadsIn(ctx, name.Namespace); err != nil {
				return err
			}
			looks[name.Namespace] = seen
		}
		s.Templates, s.Unread = seen.Templates(s.Selector), append(s.Unread, seen.unread...)
		services[name] = s
	}
	return nil
}

func (c *Cluster) workloadsIn(ctx context.Context, namespace string) (w doctor.Workloads, unread []string, err error) {
	for _, kind := range []struct {
		resource string
		list     runtime.Object
	}{
		{"replicasets", &w.ReplicaSets}, {"deployments", &w.Deployments}, {"statefulsets", &w.StatefulSets}, {"daemonsets", &w.DaemonSets},
	} {
		err := c.Kube.AppsV1().RESTClient().Get().Namespace(namespace).Resource(kind.resource).Do(ctx).Into(kind.list)
		switch {
		case apierrors.IsForbidden(err):
			unread = append(unread, kind.resource)
		case err != nil:
			return w, nil, err
		}
	}
	return w, unread, nil
}
