package csvspec

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// stays tells what is never Changed, but stays as it is until its successor serves: a
// conversion webhook, since objects are stored in versions that somebody does not read, and an
// APIService, since to be without it for a while does not keep its calls from failing.
func StaysRegistered(i Identity) bool {
	return i.Type == operatorsv1alpha1.ConversionWebhook || i.Type == APIServiceType
}

// Identity tells the registrations of one ClusterServiceVersion apart.
type Identity struct {
	Type         operatorsv1alpha1.WebhookAdmissionType
	GenerateName string
}

// IdentityOf is the identity of a description.
func IdentityOf(d operatorsv1alpha1.WebhookDescription) Identity {
	return Identity{Type: d.Type, GenerateName: d.GenerateName}
}

// HasRegistrations tells whether a ClusterServiceVersion has anything to register.
func HasRegistrations(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return len(csv.Spec.WebhookDefinitions)+len(csv.Spec.APIServiceDefinitions.Owned) > 0
}

// Descriptions are what names the given Deployment as its server: the owned APIServices,
// then the webhooks, each in the order of the ClusterServiceVersion. OLM v0 gives them the
// ports of the Service in that order.
func Descriptions(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	of := ServedAPIServices(csv, deployment)
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.DeploymentName == deployment {
			of = append(of, d)
		}
	}
	return of
}
