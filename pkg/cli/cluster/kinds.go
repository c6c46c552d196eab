package cluster

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// isUnknownKind reports whether a list failed because the cluster does not know the kind. API servers
// answer so to a user who may list the kind; for other users they answer "forbidden".
func (c *Cluster) isUnknownKind(ctx context.Context, err error, kind schema.GroupVersionResource) bool {
	if apierrors.IsNotFound(err) {
		return true
	}
	if !apierrors.IsForbidden(err) {
		return false
	}
	client, err := Discovery(ctx, c.Config)
	if err != nil {
		return false
	}
	known, err := client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return !slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource })
}
