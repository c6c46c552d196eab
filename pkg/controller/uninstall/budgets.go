package uninstall

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// deleteBudgets deletes the PodDisruptionBudgets of a ClusterServiceVersion also if its operator continues to run: nothing
// would delete one later that keeps a node from being drained. shared includes budgets that another version owns as well.
func (u *Uninstaller) deleteBudgets(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, shared bool) error {
	selected := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(csvspec.OwnerLabels(csv)).String()}
	list, err := u.Kube.PolicyV1().PodDisruptionBudgets(csv.Namespace).List(ctx, selected)
	if err != nil {
		return err
	}
	owned := lists.Filter(live.Pointers(list.Items), func(budget *policyv1.PodDisruptionBudget) bool {
		return render.OwnsBudget(csv, budget) && (shared || len(budget.OwnerReferences) == 1)
	})
	_, err = u.send(ctx, csv.Namespace, lists.Map(owned, func(budget *policyv1.PodDisruptionBudget) rollout.Step {
		return rollout.Step{Verb: rollout.Delete, Object: budget}
	}))
	return err
}
