package gather

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
)

// addPriorityClass adds why the PriorityClass of the annotations is not used. If it may exist, pods that have it keep it: a
// permission that is missing for a moment does not roll out pods.
func addPriorityClass(ctx context.Context, client kubernetes.Interface, s *decide.Facts) error {
	class := s.Config.PriorityClass(s.CSV)
	why, mayExist, err := whyUnusable(ctx, client, class)
	if s.Config.UnusablePriorityClass = why; !mayExist {
		return err
	}
	s.Config.KeepsPriorityClass = map[string]bool{}
	for name, live := range s.Observed.Deployments {
		if live.Spec.Template.Spec.PriorityClassName == class {
			s.Config.KeepsPriorityClass[name] = true
		}
	}
	return err
}

// whyUnusable returns why pods cannot have a PriorityClass, or must not get it. It is empty if they can, and without a name.
func whyUnusable(ctx context.Context, client kubernetes.Interface, class string) (why string, mayExist bool, err error) {
	if class == "" {
		return "", false, nil
	}
	_, err = client.SchedulingV1().PriorityClasses().Get(ctx, class, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("PriorityClass %s does not exist: create it, or correct the name", class), false, nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the manager must not read PriorityClass %s: grant it get of priorityclasses, as manifests/manager/clusterrole.yaml does", class), true, nil
	default:
		return "", false, err
	}
}
