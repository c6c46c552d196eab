package status

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What may not be read is not reported as missing.
func TestUnseenRegistrations(t *testing.T) {
	f := facts()
	f.Facts, f.RegistrationsUnread = doctor.Facts{}, "customresourcedefinitions is forbidden"
	f.CSVs = []operatorsv1alpha1.ClusterServiceVersion{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other.v1"},
		Spec:       operatorsv1alpha1.ClusterServiceVersionSpec{WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.other.io"}}},
		Status:     operatorsv1alpha1.ClusterServiceVersionStatus{Phase: operatorsv1alpha1.CSVPhaseSucceeded},
	}}
	s := Of(f, "shop", now)
	var states []string
	for _, w := range s.Webhooks {
		states = append(states, w.Name+" "+w.State)
	}
	installtest.Among(t, states, "v.shop.io Registered", "c.shop.io Unreachable", "v.other.io Unknown")
	var printed strings.Builder
	s.Print(output.New(&printed), false, now)
	if want := "was not checked: customresourcedefinitions is forbidden\n"; !strings.HasSuffix(printed.String(), want) {
		t.Errorf("it does not end with %q:\n%s", want, printed.String())
	}
}
