package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// What a WebhookRollout says is told; what it does not say yet, or says no more, is not.
func TestStatusCollector(t *testing.T) {
	rollout := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	told := []*managerv1alpha1.WebhookRollout{rollout}
	collector := statusCollector{func() []*managerv1alpha1.WebhookRollout { return told }}
	expect := func(want string) {
		t.Helper()
		if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	}
	expect("")

	rollout.Status = managerv1alpha1.WebhookRolloutStatus{
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NoReadyEndpoints"}},
		Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "manager",
			Certificate: &managerv1alpha1.CertificateStatus{
				Provider: managerv1alpha1.ProviderManager, Phase: managerv1alpha1.CertificateStable, NotAfter: &metav1.Time{Time: time.Unix(2e9, 0)},
			},
			Webhooks: []managerv1alpha1.WebhookStatus{{
				Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", State: managerv1alpha1.WebhookUnreachable,
			}},
		}, {
			Name: "worker", // a description that is declared twice, for two Deployments, is a mistake of which both tell
			Webhooks: []managerv1alpha1.WebhookStatus{{
				Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", State: managerv1alpha1.WebhookBlocked,
			}},
		}, {Name: "third"}},
	}
	expect(`
# HELP olm_webhook_manager_certificate_not_after_seconds When the serving certificate of a Deployment ends, in seconds since 1970.
# TYPE olm_webhook_manager_certificate_not_after_seconds gauge
olm_webhook_manager_certificate_not_after_seconds{csv="shop.v1",deployment="manager",namespace="shop",provider="manager"} 2e+09
# HELP olm_webhook_manager_certificate_phase 1 for the phase that a serving certificate is in.
# TYPE olm_webhook_manager_certificate_phase gauge
olm_webhook_manager_certificate_phase{csv="shop.v1",deployment="manager",namespace="shop",phase="Stable"} 1
# HELP olm_webhook_manager_condition Whether a condition of a WebhookRollout is True (1) or not (0).
# TYPE olm_webhook_manager_condition gauge
olm_webhook_manager_condition{condition="Ready",csv="shop.v1",namespace="shop",reason="NoReadyEndpoints"} 0
# HELP olm_webhook_manager_webhook_state 1 for the state that a declared webhook is in, 0 for the others.
# TYPE olm_webhook_manager_webhook_state gauge
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="manager",namespace="shop",state="Blocked",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="manager",namespace="shop",state="Disabled",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="manager",namespace="shop",state="Registered",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="manager",namespace="shop",state="Unreachable",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 1
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="manager",namespace="shop",state="Waiting",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="worker",namespace="shop",state="Blocked",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 1
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="worker",namespace="shop",state="Disabled",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="worker",namespace="shop",state="Registered",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="worker",namespace="shop",state="Unreachable",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
olm_webhook_manager_webhook_state{csv="shop.v1",deployment="worker",namespace="shop",state="Waiting",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 0
`)

	told = nil
	expect("")
}
