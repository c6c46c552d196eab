package rollout

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

const (
	reasonRefused    = "RefusedByAPIServer"
	reasonUnanswered = "WebhookUnanswered"
)

// refused is why the API server has not accepted a write in this pass; empty when it has. That
// nobody answers a webhook is no verdict on what was to be written: it fails no installation.
func (p *planner) refused(key string) (reason, message string) {
	switch message = p.Observed.Refused[key]; {
	case message == "":
		return "", ""
	case p.Observed.Unanswered[key]:
		return reasonUnanswered, message
	default:
		return reasonRefused, message
	}
}

// refusal is what the API server says to what a Deployment needs, from its Secret to
// itself; empty when it accepts all of it.
func (p *planner) refusal(d render.Deployment) (reason, message string) {
	var needs []drift.Object
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
		if reason, message := p.refused(drift.KeyOf(object)); reason != "" {
			return reason, message
		}
	}
	return "", ""
}
