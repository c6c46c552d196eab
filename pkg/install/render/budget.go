package render

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// Budget returns the PodDisruptionBudget that the annotations ask for; nil for none. It does not count pods that are not
// ready: they serve no webhook, and must not keep a node from being drained. replaced are versions of which the
// Deployment may still have pods.
func Budget(csv *operatorsv1alpha1.ClusterServiceVersion, replaced []*operatorsv1alpha1.ClusterServiceVersion, config subscriptions.Config, spec operatorsv1alpha1.StrategyDeploymentSpec) *policyv1.PodDisruptionBudget {
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
			Selector:                   podsOfVersions(spec, append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, replaced...)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// podsOfVersions selects the pods of the manager's Deployments only. A pod of another client, such as that of a Job, can have the
// labels of the Deployment's selector: the disruption controller then allows no eviction, or the pod has two budgets.
func podsOfVersions(spec operatorsv1alpha1.StrategyDeploymentSpec, versions []*operatorsv1alpha1.ClusterServiceVersion) *metav1.LabelSelector {
	selector := ptr.Deref(spec.Spec.Selector.DeepCopy(), metav1.LabelSelector{})
	having := lists.Filter(versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasDeployment(csv, spec.Name) })
	values := lists.Sorted(lists.Map(having, func(csv *operatorsv1alpha1.ClusterServiceVersion) string { return names.LabelValue(csv.Name) }))
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: wellknown.LabelCSV, Operator: metav1.LabelSelectorOpIn, Values: values,
	})
	return &selector
}

// OwnsBudget reports whether the manager made a PodDisruptionBudget for a version. A budget of the bundle may have the same
// labels and owner.
func OwnsBudget(csv *operatorsv1alpha1.ClusterServiceVersion, budget *policyv1.PodDisruptionBudget) bool {
	return budget.Annotations[wellknown.AnnotationBudgetFor] != "" && csvspec.Owns(csv, budget)
}
