package csvspec

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// StaysRegistered reports whether a registration is never removed before its successor serves: without a
// conversion webhook, objects in other versions cannot be read, and without an APIService, its calls fail.
func StaysRegistered(i Identity) bool {
	return i.Type == operatorsv1alpha1.ConversionWebhook || i.Type == APIServiceType
}

// Identity identifies a registration within a CSV.
type Identity struct {
	Type         operatorsv1alpha1.WebhookAdmissionType
	GenerateName string
}

// IdentityOf returns the identity of a description.
func IdentityOf(d operatorsv1alpha1.WebhookDescription) Identity {
	return Identity{Type: d.Type, GenerateName: d.GenerateName}
}

// HasRegistrations reports whether a CSV has a webhook or an owned APIService.
func HasRegistrations(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return len(csv.Spec.WebhookDefinitions)+len(csv.Spec.APIServiceDefinitions.Owned) > 0
}

// Descriptions returns APIServices, then webhooks: OLM v0 allocates the ports of the Service in this order.
func Descriptions(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	of := ServedAPIServices(csv, deployment)
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.DeploymentName == deployment {
			of = append(of, d)
		}
	}
	return of
}

// MatchConditions returns the matchConditions in the annotation of a CSV, by generateName.
func MatchConditions(csv *operatorsv1alpha1.ClusterServiceVersion) (map[string][]admissionregistrationv1.MatchCondition, error) {
	var conditions map[string][]admissionregistrationv1.MatchCondition
	if text := csv.Annotations[wellknown.AnnotationMatchConditions]; text != "" {
		if err := yamltext.Check([]byte(text)); err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict([]byte(text), &conditions); err != nil {
			return nil, err
		}
	}
	return conditions, nil
}
