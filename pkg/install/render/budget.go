package render

import (
	policyv1 "k8s.io/api/policy/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// Budget returns the PodDisruptionBudget that the annotations ask for; nil for none. It does not count pods that are not
// ready: they serve no webhook, and must not keep a node from being drained.
func Budget(csv *operatorsv1alpha1.ClusterServiceVersion, config subscriptions.Config, spec operatorsv1alpha1.StrategyDeploymentSpec) *policyv1.PodDisruptionBudget {
	limit := config.Availability(csv, spec).Budget
	if limit == nil {
		return nil
	}
	meta := csvspec.OwnedMeta(csv, names.Budget(spec.Name))
	meta.Annotations = map[string]string{wellknown.AnnotationBudgetFor: spec.Name}
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             limit.MaxUnavailable,
			MinAvailable:               limit.MinAvailable,
			Selector:                   spec.Spec.Selector.DeepCopy(),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// OwnsBudget reports whether the manager made a PodDisruptionBudget for a version. A budget of the bundle may have the same
// labels and owner.
func OwnsBudget(csv *operatorsv1alpha1.ClusterServiceVersion, budget *policyv1.PodDisruptionBudget) bool {
	return budget.Annotations[wellknown.AnnotationBudgetFor] != "" && csvspec.Owns(csv, budget)
}
