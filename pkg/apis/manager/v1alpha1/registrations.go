package v1alpha1

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// APIServiceType is the type of an owned APIService among the webhooks: it is called through
// the same Service, under the same trust, and has to be registered and unregistered in the same
// order. So it is described, registered and looked after as one of them, and its generateName is
// its name.
const APIServiceType operatorsv1alpha1.WebhookAdmissionType = "APIService"

// Registrations are the owned APIServices and the webhooks of a Deployment, in the form
// of the latter.
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

// Title is what people call a registration: "webhook v.example.com", "APIService
// v1.example.com".
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
