package csvspec

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// MatchConditions are the author's matchConditions, by the generateName of their webhook.
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
