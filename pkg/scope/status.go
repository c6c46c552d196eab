package scope

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// The condition of an OperatorGroup whose spec cannot be understood. OLM v0 has none
// for it; the name is the manager's own.
const (
	ConditionInvalidSelection = managerv1alpha1.GroupName + "/InvalidNamespaceSelection"
	ReasonInvalidSelection    = "InvalidNamespaceSelection"
)

// GroupStatus is what an OperatorGroup's status should be, and whether it is
// something else. The peers are the groups of its namespace, itself included; account is
// the ServiceAccount that it names, if there is one.
//
// What others wrote into the status stays, and so do the namespaces of a group whose
// spec cannot be understood. A group that is being deleted is left alone.
func GroupStatus(
	group *operatorsv1.OperatorGroup, peers []*operatorsv1.OperatorGroup, namespaces []*corev1.Namespace, account *corev1.ServiceAccount, now time.Time,
) (status operatorsv1.OperatorGroupStatus, changed bool) {
	if !group.DeletionTimestamp.IsZero() {
		return group.Status, false
	}
	wanted := group.Status.DeepCopy()
	at := metav1.NewTime(now)

	targets, err := Targets(group, namespaces)
	if err == nil {
		wanted.Namespaces = targets
	}
	hold(&wanted.Conditions, invalidSelection(err, at))
	hold(&wanted.Conditions, multipleGroups(notDeleting(peers), at))
	referToAccount(wanted, group, account, at)

	// The schema requires lastUpdated.
	if wanted.LastUpdated != nil && equality.Semantic.DeepEqual(*wanted, group.Status) {
		return group.Status, false
	}
	wanted.LastUpdated = &at
	return *wanted, true
}

func invalidSelection(err error, at metav1.Time) metav1.Condition {
	condition := metav1.Condition{
		Type:               ConditionInvalidSelection,
		Status:             metav1.ConditionFalse,
		Reason:             ReasonInvalidSelection,
		LastTransitionTime: at,
	}
	if err != nil {
		condition.Status = metav1.ConditionTrue
		condition.Message = err.Error()
	}
	return condition
}

func multipleGroups(groups []*operatorsv1.OperatorGroup, at metav1.Time) metav1.Condition {
	condition := metav1.Condition{
		Type:               operatorsv1.MutlipleOperatorGroupCondition,
		Status:             metav1.ConditionFalse,
		Reason:             operatorsv1.MultipleOperatorGroupsReason,
		LastTransitionTime: at,
	}
	if len(groups) > 1 {
		condition.Status = metav1.ConditionTrue
		condition.Message = "Multiple OperatorGroup found in the same namespace: " + groupNames(groups) + "; keep one of them"
	}
	return condition
}

// hold keeps a condition while it is true and removes it when it is not, as OLM v0
// does: both conditions are complaints.
func hold(conditions *[]metav1.Condition, condition metav1.Condition) {
	if condition.Status == metav1.ConditionTrue {
		meta.SetStatusCondition(conditions, condition)
		return
	}
	meta.RemoveStatusCondition(conditions, condition.Type)
}
