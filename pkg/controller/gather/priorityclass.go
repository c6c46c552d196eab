package gather

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// whyUnusable returns why pods cannot have a PriorityClass: the API server would refuse them. It is empty if they can, and
// without a name.
func whyUnusable(ctx context.Context, client kubernetes.Interface, class string) (string, error) {
	if class == "" {
		return "", nil
	}
	_, err := client.SchedulingV1().PriorityClasses().Get(ctx, class, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("PriorityClass %s does not exist: create it, or correct the name", class), nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the manager must not read PriorityClass %s: grant it get of priorityclasses, as manifests/manager/clusterrole.yaml does", class), nil
	default:
		return "", err
	}
}
