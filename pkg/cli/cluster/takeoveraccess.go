package cluster

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// Access adds the permissions that takeover run and undo need and the user lacks.
func (c TakeoverReader) Access(ctx context.Context, s *takeover.Snapshot) error {
	for _, p := range takeover.Permissions(s) {
		resource, group, _ := strings.Cut(p.Resource, ".")
		resource, subresource, _ := strings.Cut(resource, "/")
		review, err := c.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.Namespace, Verb: p.Verb, Group: group, Resource: resource, Subresource: subresource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !review.Status.Allowed {
			s.Missing = append(s.Missing, p)
		}
	}
	return nil
}
