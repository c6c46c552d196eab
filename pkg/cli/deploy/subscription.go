package deploy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// AdoptSubscription gives the Subscription of an installation the name of the one for its package
// that is in its namespace already. Of one that came with no bundle it does not say that it did.
func AdoptSubscription(subscription *unstructured.Unstructured, live []operatorsv1alpha1.Subscription, name string) {
	for _, l := range live {
		if l.Spec != nil && l.Spec.Package == name {
			subscription.SetName(l.Name)
			limitOrigin(subscription, l.Annotations)
		}
	}
}
