package installplans

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans/obstacle"
)

const (
	// byObstacle indexes InstallPlans by the webhook, or the converted kind, that they cannot continue without.
	byObstacle = "obstacle"
	// byWebhook indexes ClusterServiceVersions by the names of their webhooks and the definitions that they convert.
	byWebhook = "installplans-webhook"
	// byKind indexes CustomResourceDefinitions by their kind.
	byKind = "installplans-kind"
)

func webhookValue(name string) string { return "webhook " + name }

func definitionValue(crd string) string { return "definition " + crd }

func kindValue(kind schema.GroupKind) string { return "kind " + kind.String() }

func kindOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	return kindValue(schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
}

func obstacleValue(o obstacle.Obstacle) string {
	if o.Webhook != "" {
		return webhookValue(o.Webhook)
	}
	return kindValue(o.Converted)
}

var planIndexers = cache.Indexers{byObstacle: func(o any) ([]string, error) {
	if found, blocked := obstacle.Of(o.(*operatorsv1alpha1.InstallPlan)); blocked {
		return []string{obstacleValue(found)}, nil
	}
	return nil, nil
}}

var csvIndexers = cache.Indexers{byWebhook: func(o any) ([]string, error) {
	csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion)
	if !ok || csv.IsCopied() {
		return nil, nil
	}
	var values []string
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			values = append(values, webhookValue(d.GenerateName))
		}
		for _, crd := range d.ConversionCRDs {
			values = append(values, definitionValue(crd))
		}
	}
	return values, nil
}}

var crdIndexers = cache.Indexers{byKind: func(o any) ([]string, error) {
	if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		return []string{kindOf(crd)}, nil
	}
	return nil, nil
}}
