package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// setRejected reports what issuers issued that cannot be served: pods keep what they have until
// it expires, and nothing else would be seen of it before.
func (p *planner) setRejected(status *managerv1alpha1.WebhookRolloutStatus) {
	var reasons, messages []string
	for _, d := range status.Deployments {
		if d.Certificate != nil && d.Certificate.Rejected != nil {
			reasons = append(reasons, d.Certificate.Rejected.Reason)
			messages = append(messages, d.Certificate.Rejected.Message)
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionCertificateRejected)
		return
	}
	p.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionCertificateRejected, Status: metav1.ConditionTrue, Reason: reasons[0], Message: strings.Join(messages, "; "),
	})
}
