package write

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// A registration that another client has changed since it was read is not deleted.
func TestPreconditions(t *testing.T) {
	read := metav1.ObjectMeta{Name: "shop", UID: "1", ResourceVersion: "7"}
	for name, test := range map[string]struct {
		object  drift.Object
		version bool
	}{
		"validating": {&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: read}, true},
		"mutating":   {&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: read}, true},
		"API":        {&apiregistrationv1.APIService{ObjectMeta: read}, true},
		"created":    {&apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{UID: "1"}}, false},
		"Service":    {&corev1.Service{ObjectMeta: read}, false},
	} {
		got := preconditions(test.object)
		if *got.UID != "1" || (got.ResourceVersion != nil) != test.version || test.version && *got.ResourceVersion != "7" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
