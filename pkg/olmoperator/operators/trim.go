package operators

import (
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

// trimmedCondition keeps the conditions of an OperatorCondition.
func trimmedCondition(o any) (any, error) {
	if condition, ok := o.(*unstructured.Unstructured); ok {
		condition.SetManagedFields(nil)
		condition.SetAnnotations(nil)
		delete(condition.Object, "spec")
	}
	return o, nil
}
