package v1alpha1

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// APIServiceType is the type of an owned APIService, which is treated as a webhook whose generateName is its
// name: it has the same Service and trust, and the same order of registration.
const APIServiceType operatorsv1alpha1.WebhookAdmissionType = "APIService"

// Registrations returns the owned APIServices and the webhooks of a Deployment, in the form of webhooks.
func (d DeploymentStatus) Registrations() []WebhookStatus {
	all := make([]WebhookStatus, 0, len(d.APIServices)+len(d.Webhooks))
	for _, s := range d.APIServices {
		one := WebhookStatus{Type: APIServiceType, GenerateName: s.Name, State: s.State, Reason: s.Reason, Message: s.Message, LastTransitionTime: s.LastTransitionTime}
		if s.State == WebhookRegistered || s.State == WebhookUnreachable || s.Lost {
			one.Configuration = s.Name
		}
		all = append(all, one)
	}
	return append(all, d.Webhooks...)
}

// Title names a registration for people: "webhook v.example.com", "APIService v1.example.com".
func Title(kind operatorsv1alpha1.WebhookAdmissionType, generateName string) string {
	if kind == APIServiceType {
		return "APIService " + generateName
	}
	return "webhook " + generateName
}

// String returns the counts for people: "3/5 new, 1 old, 1 unknown". It is empty when there are none.
func (e *CertificateEndpoints) String() string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d new, %d old, %d unknown", e.Updated, e.Total, e.Outdated, e.Unknown)
}
