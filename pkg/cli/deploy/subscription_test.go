package deploy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
			installtest.Same(t, "name", test.want, adopted.GetName())
			installtest.Same(t, "its annotations name a bundle", test.ofBundle, len(adopted.GetAnnotations()) > 0)
		})
	}
}
