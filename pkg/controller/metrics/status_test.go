package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Metrics have only what the status of a WebhookRollout has now.
func TestStatusCollector(t *testing.T) {
	rollout := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	rollouts := []*managerv1alpha1.WebhookRollout{rollout}
	collector := statusCollector{func() []*managerv1alpha1.WebhookRollout { return rollouts }, time.Now}
	expect := func(want string) {
		t.Helper()
		installtest.Must(t, testutil.CollectAndCompare(collector, strings.NewReader(want)))
	}
	expect("")

	rollout.Status = managerv1alpha1.WebhookRolloutStatus{
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NoReadyEndpoints"}},
		Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "manager",
			Certificate: &managerv1alpha1.CertificateStatus{
				Provider: managerv1alpha1.ProviderManager, Phase: managerv1alpha1.CertificateStable,
				NotBefore: &metav1.Time{Time: time.Unix(1e9, 0)}, NotAfter: &metav1.Time{Time: time.Unix(2e9, 0)}, RenewalTime: &metav1.Time{Time: time.Unix(15e8, 0)},
			},
			Webhooks: []managerv1alpha1.WebhookStatus{{
				Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", State: managerv1alpha1.WebhookUnreachable,
			}},
		}, {
			Name: "worker", // a description that is declared for two Deployments is a mistake that both report
			Webhooks: []managerv1alpha1.WebhookStatus{{
				Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", State: managerv1alpha1.WebhookBlocked,
			}},
		}, {Name: "third"}},
	}
	expect(`
# HELP olm_webhook_manager_certificate_expiration_timestamp_seconds When the serving certificate of a Deployment expires, in seconds since 1970.
# TYPE olm_webhook_manager_certificate_expiration_timestamp_seconds gauge
olm_webhook_manager_certificate_expiration_timestamp_seconds{csv="shop.v1",deployment="manager",namespace="shop",provider="manager"} 2e+09
# HELP olm_webhook_manager_certificate_lost_registrations How many registrations cannot be made to trust the serving certificate of a Deployment, so that their calls fail.
# TYPE olm_webhook_manager_certificate_lost_registrations gauge
olm_webhook_manager_certificate_lost_registrations{csv="shop.v1",deployment="manager",namespace="shop"} 0
# HELP olm_webhook_manager_certificate_phase 1 for the phase that a serving certificate is in.
# TYPE olm_webhook_manager_certificate_phase gauge
olm_webhook_manager_certificate_phase{csv="shop.v1",deployment="manager",namespace="shop",phase="Stable"} 1
# HELP olm_webhook_manager_certificate_renewal_timestamp_seconds When the serving certificate of a Deployment is due for renewal, in seconds since 1970; absent if its provider does not announce it.
# TYPE olm_webhook_manager_certificate_renewal_timestamp_seconds gauge
olm_webhook_manager_certificate_renewal_timestamp_seconds{csv="shop.v1",deployment="manager",namespace="shop",provider="manager"} 1.5e+09
# HELP olm_webhook_manager_certificate_start_timestamp_seconds When the validity of the serving certificate of a Deployment starts, in seconds since 1970.
# TYPE olm_webhook_manager_certificate_start_timestamp_seconds gauge
olm_webhook_manager_certificate_start_timestamp_seconds{csv="shop.v1",deployment="manager",namespace="shop",provider="manager"} 1e+09
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

	rollouts = nil
	expect("")
}

// The names follow the conventions of Prometheus: base units, and _total only for counters.
func TestMetricNames(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry)
	rollout := &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
		Conditions: []metav1.Condition{{Type: "Ready"}},
		Deployments: []managerv1alpha1.DeploymentStatus{{
			Certificate: &managerv1alpha1.CertificateStatus{NotBefore: &metav1.Time{}, NotAfter: &metav1.Time{}, RenewalTime: &metav1.Time{}},
			Webhooks:    []managerv1alpha1.WebhookStatus{{}},
		}},
	}}
	registry.MustRegister(statusCollector{func() []*managerv1alpha1.WebhookRollout { return []*managerv1alpha1.WebhookRollout{rollout} }, time.Now})
	m.ObserveReconciliation("ClusterServiceVersion", time.Second, nil)
	m.writes.WithLabelValues("create", "Service", "ok")
	m.registrations.WithLabelValues("ConversionWebhook").Observe(1)
	problems := installtest.OrPanic(testutil.GatherAndLint(registry))
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families := installtest.OrPanic(registry.Gather())
	for _, f := range families {
		name := f.GetName()
		installtest.Prefix(t, "the name", "olm_webhook_manager_", name)
		if strings.Contains(f.GetHelp(), "since 1970") != strings.HasSuffix(name, "_timestamp_seconds") {
			t.Errorf("%s: an instant is called _timestamp_seconds, and nothing else is", name)
		}
	}
	installtest.Same(t, "the number of checked metrics", 13, len(families))
}

func TestUnreachableFromAPIServer(t *testing.T) {
	rollout := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", Webhooks: []managerv1alpha1.WebhookStatus{{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", UnreachableFrom: []managerv1alpha1.UnreachableFrom{{APIServer: "192.0.2.1:6443"}, {APIServer: "192.0.2.2:6443"}},
	}}}}
	collector := statusCollector{func() []*managerv1alpha1.WebhookRollout { return []*managerv1alpha1.WebhookRollout{rollout} }, time.Now}
	installtest.Must(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP olm_webhook_manager_webhook_unreachable_from_api_server 1 while calls of a registered webhook from an API server fail, as its metrics show. Absent otherwise.
# TYPE olm_webhook_manager_webhook_unreachable_from_api_server gauge
olm_webhook_manager_webhook_unreachable_from_api_server{api_server="192.0.2.1:6443",csv="shop.v1",deployment="manager",namespace="shop",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 1
olm_webhook_manager_webhook_unreachable_from_api_server{api_server="192.0.2.2:6443",csv="shop.v1",deployment="manager",namespace="shop",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 1
`), "olm_webhook_manager_webhook_unreachable_from_api_server"))
}

func TestFailOpenMetrics(t *testing.T) {
	from := time.Unix(1e9, 0)
	w := managerv1alpha1.WebhookStatus{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io",
		FailOpen: &managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenAll, OpenSeconds: 100, Openings: []managerv1alpha1.Opening{{From: metav1.NewTime(from)}}},
	}
	rollout := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", Webhooks: []managerv1alpha1.WebhookStatus{w}}}
	collector := statusCollector{func() []*managerv1alpha1.WebhookRollout { return []*managerv1alpha1.WebhookRollout{rollout} }, func() time.Time { return from.Add(11 * time.Second) }}
	installtest.Must(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP olm_webhook_manager_webhook_open Which requests pass that a webhook does not answer: 0 for none, 1 for some, 2 for all. Only webhooks that the administrator lets open have it.
# TYPE olm_webhook_manager_webhook_open gauge
olm_webhook_manager_webhook_open{csv="shop.v1",deployment="manager",namespace="shop",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 2
# HELP olm_webhook_manager_webhook_open_seconds_total How long a webhook was open, over all its openings.
# TYPE olm_webhook_manager_webhook_open_seconds_total counter
olm_webhook_manager_webhook_open_seconds_total{csv="shop.v1",deployment="manager",namespace="shop",type="ValidatingAdmissionWebhook",webhook="v.shop.io"} 111
`), "olm_webhook_manager_webhook_open", "olm_webhook_manager_webhook_open_seconds_total"))
}
