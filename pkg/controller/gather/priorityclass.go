package gather

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
)

// checkPriorityClass reads the PriorityClass that an annotation names. Without it, the API server would refuse the pods.
func (g *Gatherer) checkPriorityClass(ctx context.Context, s *decide.Facts) error {
	name := s.Config.PriorityClass(s.CSV)
	if name == "" {
		return nil
	}
	_, err := g.Kube.SchedulingV1().PriorityClasses().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.Config.UnusablePriorityClass = fmt.Sprintf("PriorityClass %s does not exist: create it, or correct the name", name)
	case apierrors.IsForbidden(err):
		s.Config.UnusablePriorityClass = fmt.Sprintf("the manager must not read PriorityClass %s: grant it get of priorityclasses, as manifests/manager/clusterrole.yaml does", name)
	default:
		return err
	}
	return nil
}
