package scope

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// The condition of an OperatorGroup whose spec cannot be understood. OLM v0 has none
// for it; the name is the manager's own.
const (
	ConditionInvalidSelection = managerv1alpha1.GroupName + "/InvalidNamespaceSelection"
	ReasonInvalidSelection    = "InvalidNamespaceSelection"
)

// The condition of an OperatorGroup whose label could not be written to, or removed from, Namespaces.
const (
	ConditionLabelRefused = managerv1alpha1.GroupName + "/NamespaceLabelRefused"
	ReasonLabelRefused    = "NamespaceLabelRefused"
)

// The condition of an OperatorGroup whose annotation of provided APIs could not be written.
const (
	ConditionAnnotationRefused = managerv1alpha1.GroupName + "/AnnotationRefused"
	ReasonAnnotationRefused    = "AnnotationRefused"
)

// Refused is why changes that go with an OperatorGroup are not made.
type Refused struct {
	// Labels says by Namespace why the group's label could not be changed there.
	Labels map[string]string
	// ProvidedAPIs says why the group's annotation could not be changed; empty when it could.
	ProvidedAPIs string
}

// GroupStatus is what an OperatorGroup's status should be, and whether it is
// something else. The peers are the groups of its namespace, itself included; account is
// the ServiceAccount that it names, if there is one.
//
// What others wrote into the status stays, and so do the namespaces of a group whose
// spec cannot be understood. A group that is being deleted is not modified.
func GroupStatus(
	group *operatorsv1.OperatorGroup, peers []*operatorsv1.OperatorGroup, namespaces []*corev1.Namespace, account *corev1.ServiceAccount,
	refused Refused, now time.Time,
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
	hold(&wanted.Conditions, labelRefused(group, refused.Labels, at))
	hold(&wanted.Conditions, annotationRefused(refused.ProvidedAPIs, at))
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
		condition.Message = csvstatus.Shorten(err.Error(), csvstatus.MaxCondition, "")
	}
	return condition
}

func labelRefused(group *operatorsv1.OperatorGroup, refused map[string]string, at metav1.Time) metav1.Condition {
	condition := metav1.Condition{Type: ConditionLabelRefused, Status: metav1.ConditionFalse, Reason: ReasonLabelRefused, LastTransitionTime: at}
	if len(refused) == 0 {
		return condition
	}
	condition.Status = metav1.ConditionTrue
	message := fmt.Sprintf("label %s cannot be changed: %s", LabelOf(group), RefusedLabels(slices.Collect(maps.Keys(refused)), refused))
	condition.Message = csvstatus.Shorten(message, csvstatus.MaxCondition, "")
	return condition
}

func annotationRefused(why string, at metav1.Time) metav1.Condition {
	condition := metav1.Condition{Type: ConditionAnnotationRefused, Status: metav1.ConditionFalse, Reason: ReasonAnnotationRefused, LastTransitionTime: at}
	if why != "" {
		condition.Status = metav1.ConditionTrue
		condition.Message = fmt.Sprintf("annotation %s is not written: %s", operatorsv1.OperatorGroupProvidedAPIsAnnotationKey, csvstatus.Shorten(why, csvstatus.MaxCondition/2, ""))
	}
	return condition
}

// RefusedLabels says of some Namespaces why a label could not be changed there, and the way out; empty
// when nothing was refused. It names three at most.
func RefusedLabels(namespaces []string, refused map[string]string) string {
	const most = 3
	var causes []string
	more := 0
	for _, namespace := range slices.Sorted(slices.Values(namespaces)) {
		switch why := refused[namespace]; {
		case why == "":
		case len(causes) < most:
			causes = append(causes, fmt.Sprintf("Namespace %s: %s", namespace, why))
		default:
			more++
		}
	}
	if len(causes) == 0 {
		return ""
	}
	if more > 0 {
		causes = append(causes, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(causes, "; ") + ": let the manager change the labels of these Namespaces, or remove them from the OperatorGroup"
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
		condition.Message = csvstatus.Shorten("Multiple OperatorGroup found in the same namespace: "+groupNames(groups)+"; keep one of them", csvstatus.MaxCondition, "")
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
