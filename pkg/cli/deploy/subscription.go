package deploy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// AdoptSubscription sets the name and the origin of an existing Subscription for the package.
func AdoptSubscription(subscription *unstructured.Unstructured, live []operatorsv1alpha1.Subscription, name string) {
	for _, l := range live {
		if l.Spec != nil && l.Spec.Package == name {
			subscription.SetName(l.Name)
			limitOrigin(subscription, l.Annotations)
		}
	}
}
