package scope

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// referToAccount keeps what OLM's catalog half, which installs bundles, reports of the ServiceAccount.
func referToAccount(status *operatorsv1.OperatorGroupStatus, group *operatorsv1.OperatorGroup, account *corev1.ServiceAccount, at metav1.Time) {
	const wayOut = ", or remove spec.serviceAccountName"
	name := group.Spec.ServiceAccountName
	said := meta.FindStatusCondition(status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
	switch {
	case name == "":
		if said != nil && strings.HasSuffix(said.Message, wayOut) {
			meta.RemoveStatusCondition(&status.Conditions, said.Type)
		}
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
		if ref := status.ServiceAccountRef; ref == nil || ref.Name != name {
			status.ServiceAccountRef = &corev1.ObjectReference{
				APIVersion: "v1", Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name, UID: account.UID,
			}
		}
	}
}
