package operators

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// trimmedOperator keeps the status.
func trimmedOperator(o any) (any, error) {
	if operator, ok := o.(*operatorsv1.Operator); ok {
		operator.ManagedFields = nil
	}
	return o, nil
}

// trimmedSubscription keeps the package, what it installed, and the conditions.
func trimmedSubscription(o any) (any, error) {
	if s, ok := o.(*operatorsv1alpha1.Subscription); ok {
		s.ManagedFields, s.Annotations = nil, nil
		if s.Spec != nil {
			s.Spec = &operatorsv1alpha1.SubscriptionSpec{Package: s.Spec.Package}
		}
		s.Status = operatorsv1alpha1.SubscriptionStatus{InstalledCSV: s.Status.InstalledCSV, InstallPlanRef: s.Status.InstallPlanRef, Conditions: s.Status.Conditions}
	}
	return o, nil
}

// trimmedPlan keeps the conditions, and which roles and bindings the plan created. The manifests can have megabytes.
func trimmedPlan(o any) (any, error) {
	if plan, ok := o.(*operatorsv1alpha1.InstallPlan); ok {
		plan.ManagedFields, plan.Annotations = nil, nil
		plan.Spec = operatorsv1alpha1.InstallPlanSpec{}
		var steps []*operatorsv1alpha1.Step
		for _, step := range plan.Status.Plan {
			if step != nil && step.Resource.Group == rbacv1.GroupName {
				r := step.Resource
				steps = append(steps, &operatorsv1alpha1.Step{
					Resolving: step.Resolving, Status: step.Status, Resource: operatorsv1alpha1.StepResource{Group: r.Group, Kind: r.Kind, Name: r.Name},
				})
			}
		}
		plan.Status = operatorsv1alpha1.InstallPlanStatus{Conditions: plan.Status.Conditions, Plan: steps}
	}
	return o, nil
}

// trimmedCondition keeps the conditions of an OperatorCondition.
func trimmedCondition(o any) (any, error) {
	if condition, ok := o.(*unstructured.Unstructured); ok {
		condition.SetManagedFields(nil)
		condition.SetAnnotations(nil)
		delete(condition.Object, "spec")
	}
	return o, nil
}
