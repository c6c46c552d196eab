package deploy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// An installation does not mark an existing Subscription as created by a bundle.
func TestAdoptSubscription(t *testing.T) {
	ofBundle := map[string]string{wellknown.AnnotationCreatedBy: wellknown.CreatedByBundle}
	subscription := func(name, of string, annotations map[string]string) operatorsv1alpha1.Subscription {
		return operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: of}}
	}
	for name, test := range map[string]struct {
		live     []operatorsv1alpha1.Subscription
		want     string
		ofBundle bool
	}{
		"none":                     {nil, "shop", true},
		"one of a bundle":          {[]operatorsv1alpha1.Subscription{subscription("mall", "shop", ofBundle)}, "mall", true},
		"one created by hand":      {[]operatorsv1alpha1.Subscription{subscription("mall", "shop", nil)}, "mall", false},
		"one of another package":   {[]operatorsv1alpha1.Subscription{subscription("mall", "stock", nil)}, "shop", true},
		"one that reports nothing": {[]operatorsv1alpha1.Subscription{{ObjectMeta: metav1.ObjectMeta{Name: "mall"}}}, "shop", true},
		"two, of which one counts": {[]operatorsv1alpha1.Subscription{subscription("stock", "stock", ofBundle), subscription("mall", "shop", nil)}, "mall", false},
	} {
		t.Run(name, func(t *testing.T) {
			adopted := object("", "", "")
			adopted.SetAnnotations(ofBundle)
			AdoptSubscription(adopted, test.live, "shop")
			if says := len(adopted.GetAnnotations()) > 0; adopted.GetName() != test.want || says != test.ofBundle {
				t.Errorf("it is %s with the annotations %v, want %s, of a bundle: %t", adopted.GetName(), adopted.GetAnnotations(), test.want, test.ofBundle)
			}
		})
	}
}
