package controller

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// whoAmI is the user name under which the manager writes. API servers before 1.28 do not
// tell: then no webhook exempts it.
func whoAmI(ctx context.Context, kube kubernetes.Interface) (string, error) {
	review, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot see under which name the API server knows the manager: %w", err)
	default:
		return review.Status.UserInfo.Username, nil
	}
}
