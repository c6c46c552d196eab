package rollout

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

const reasonRefused = "RefusedByAPIServer"

// refusal is what the API server says to what a Deployment needs, from its Secret to
// itself; empty when it accepts all of it.
func (p *planner) refusal(d install.Deployment) string {
	var needs []Object
	if d.SecretName != "" {
		needs = append(needs, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.CSV.Namespace, Name: d.SecretName}})
	}
	if d.Service != nil {
		needs = append(needs, d.Service, d.Role, d.RoleBinding)
	}
	if d.AuthDelegator != nil {
		needs = append(needs, d.AuthDelegator, d.AuthReader)
	}
	for _, object := range append(needs, d.Object) {
		if refusal := p.Observed.Refused[KeyOf(object)]; refusal != "" {
			return refusal
		}
	}
	return ""
}
