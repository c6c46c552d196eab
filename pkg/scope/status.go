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
)

// Conditions of an OperatorGroup that the manager defines. Each is True, or absent. OLM v0 has others.
const (
	// ConditionInvalidSelection is True while the namespaces that spec selects cannot be determined.
	ConditionInvalidSelection = "olm-webhook-manager.io/InvalidNamespaceSelection"
	// ConditionLabelRefused is True while the label of the group cannot be written or removed.
	ConditionLabelRefused = "olm-webhook-manager.io/NamespaceLabelRefused"
	// ConditionAnnotationRefused is True while the annotation olm.providedAPIs cannot be written.
	ConditionAnnotationRefused = "olm-webhook-manager.io/AnnotationRefused"
)

// The reasons of these conditions.
const (
	ReasonInvalidSelection  = "InvalidNamespaceSelection"
	ReasonLabelRefused      = "NamespaceLabelRefused"
	ReasonAnnotationRefused = "AnnotationRefused"
)

// Refused is why changes that belong to an OperatorGroup are not made.
type Refused struct {
	// Labels is why the group's label could not be changed, by Namespace.
	Labels map[string]string
	// ProvidedAPIs is why the group's annotation could not be changed; empty if it could.
	ProvidedAPIs string
}

// GroupStatus returns the desired status, and whether it differs. The peers are all groups of the namespace.
// account is the named ServiceAccount, if it exists. Fields of other clients stay, and so do the namespaces
// of a group whose spec is invalid. The status of a group that is being deleted is not changed.
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
	report := func(holds bool, kind, reason, message string) {
		if !holds {
			meta.RemoveStatusCondition(&wanted.Conditions, kind) // as OLM v0 does: every condition is a complaint
			return
		}
		meta.SetStatusCondition(&wanted.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: at,
			Message: csvstatus.Shorten(message, csvstatus.MaxCondition, ""),
		})
	}
	live := notDeleting(peers)
	report(err != nil, ConditionInvalidSelection, ReasonInvalidSelection, fmt.Sprint(err))
	report(len(live) > 1, operatorsv1.MutlipleOperatorGroupCondition, operatorsv1.MultipleOperatorGroupsReason,
		"Multiple OperatorGroup found in the same namespace: "+groupNames(live)+"; keep one of them")
	report(len(refused.Labels) > 0, ConditionLabelRefused, ReasonLabelRefused,
		fmt.Sprintf("label %s cannot be changed: %s", LabelOf(group), RefusedLabels(slices.Collect(maps.Keys(refused.Labels)), refused.Labels)))
	report(refused.ProvidedAPIs != "", ConditionAnnotationRefused, ReasonAnnotationRefused,
		fmt.Sprintf("annotation %s is not written: %s", operatorsv1.OperatorGroupProvidedAPIsAnnotationKey, csvstatus.Shorten(refused.ProvidedAPIs, csvstatus.MaxCondition/2, "")))
	referToAccount(wanted, group, account, at)

	// The schema requires lastUpdated.
	if wanted.LastUpdated != nil && equality.Semantic.DeepEqual(*wanted, group.Status) {
		return group.Status, false
	}
	wanted.LastUpdated = &at
	return *wanted, true
}

// RefusedLabels names at most three Namespaces; empty if nothing was refused.
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

// referToAccount reports the ServiceAccount to OLM's catalog-operator, which installs bundles with its permissions.
func referToAccount(status *operatorsv1.OperatorGroupStatus, group *operatorsv1.OperatorGroup, account *corev1.ServiceAccount, at metav1.Time) {
	const wayOut = ", or remove spec.serviceAccountName"
	name := group.Spec.ServiceAccountName
	said := meta.FindStatusCondition(status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
	switch {
	case name == "":
		if said != nil && (status.ServiceAccountRef != nil || strings.HasSuffix(said.Message, wayOut)) {
			meta.RemoveStatusCondition(&status.Conditions, said.Type)
		}
		status.ServiceAccountRef = nil
	case account == nil:
		status.ServiceAccountRef = nil
		if said == nil {
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type: operatorsv1.OperatorGroupServiceAccountCondition, Status: metav1.ConditionTrue,
				Reason: operatorsv1.OperatorGroupServiceAccountReason, LastTransitionTime: at,
				Message: fmt.Sprintf("ServiceAccount %s not found: create it in namespace %s%s", name, group.Namespace, wayOut),
			})
		}
	default:
		meta.RemoveStatusCondition(&status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
		if ref := status.ServiceAccountRef; ref == nil || ref.Name != name || ref.UID != account.UID {
			status.ServiceAccountRef = &corev1.ObjectReference{
				APIVersion: "v1", Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name, UID: account.UID,
			}
		}
	}
}
