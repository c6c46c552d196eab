package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

var (
	nodes  = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// controlPlane are the labels of the objects that the control plane has to write, as far as they may be listed.
func (c *Cluster) controlPlane(ctx context.Context) (doctor.ControlPlane, error) {
	seen := doctor.ControlPlane{Leases: map[string][]map[string]string{}}
	var err error
	if seen.Nodes, err = distinctLabels(ctx, c.Metadata.Resource(nodes)); apierrors.IsForbidden(err) {
		seen.Unread, err = append(seen.Unread, "nodes"), nil
	}
	if err != nil {
		return seen, err
	}
	for _, namespace := range []string{metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
		seen.Leases[namespace], err = distinctLabels(ctx, c.Metadata.Resource(leases).Namespace(namespace))
		if apierrors.IsForbidden(err) {
			seen.Unread, err = append(seen.Unread, "leases in "+namespace), nil
		}
		if err != nil {
			return seen, err
		}
	}
	return seen, nil
}

func distinctLabels(ctx context.Context, of metadata.ResourceInterface) ([]map[string]string, error) {
	list, err := of.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := lists.Map(list.Items, func(object metav1.PartialObjectMetadata) map[string]string { return object.Labels })
	return lists.Unique(all, func(l map[string]string) string { return labels.Set(l).String() }), nil
}
