package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// statusCollector exports the same in a standby as in the leader. Rules take the maximum over the replicas.
type statusCollector struct {
	rollouts func() []*managerv1alpha1.WebhookRollout
	now      func() time.Time
}

var openness = map[managerv1alpha1.FailOpenState]float64{managerv1alpha1.FailOpenPartly: 1, managerv1alpha1.FailOpenAll: 2}

var (
	descWebhook = prometheus.NewDesc("olm_webhook_manager_webhook_state",
		"1 for the state that a declared webhook is in, 0 for the others.", []string{"namespace", "csv", "deployment", "type", "webhook", "state"}, nil)
	descExpiry = prometheus.NewDesc("olm_webhook_manager_certificate_expiration_timestamp_seconds",
		"When the serving certificate of a Deployment expires, in seconds since 1970.", []string{"namespace", "csv", "deployment", "provider"}, nil)
	descStart = prometheus.NewDesc("olm_webhook_manager_certificate_start_timestamp_seconds",
		"When the validity of the serving certificate of a Deployment starts, in seconds since 1970.", []string{"namespace", "csv", "deployment", "provider"}, nil)
	descRenewal = prometheus.NewDesc("olm_webhook_manager_certificate_renewal_timestamp_seconds",
		"When the serving certificate of a Deployment is due for renewal, in seconds since 1970; absent if its provider does not announce it.", []string{"namespace", "csv", "deployment", "provider"}, nil)
	descPhase = prometheus.NewDesc("olm_webhook_manager_certificate_phase",
		"1 for the phase that a serving certificate is in.", []string{"namespace", "csv", "deployment", "phase"}, nil)
	descLost = prometheus.NewDesc("olm_webhook_manager_certificate_lost_registrations",
		"How many registrations cannot be made to trust the serving certificate of a Deployment, so that their calls fail.", []string{"namespace", "csv", "deployment"}, nil)
	descRejected = prometheus.NewDesc("olm_webhook_manager_certificate_rejected",
		"1 while what an issuer issued last for a Deployment cannot be served.", []string{"namespace", "csv", "deployment", "issuer", "object", "reason"}, nil)
	descCondition = prometheus.NewDesc("olm_webhook_manager_condition",
		"Whether a condition of a WebhookRollout is True (1) or not (0).", []string{"namespace", "csv", "condition", "reason"}, nil)
	descOpen = prometheus.NewDesc("olm_webhook_manager_webhook_open",
		"Which requests pass that a webhook does not answer: 0 for none, 1 for some, 2 for all. Only webhooks that the administrator lets open have it.",
		[]string{"namespace", "csv", "deployment", "type", "webhook"}, nil)
	descUnreachable = prometheus.NewDesc("olm_webhook_manager_webhook_unreachable_from_api_server",
		"1 while calls of a registered webhook from an API server fail, as its metrics show. Absent otherwise.", []string{"namespace", "csv", "deployment", "type", "webhook", "api_server"}, nil)
	descOpenSeconds = prometheus.NewDesc("olm_webhook_manager_webhook_open_seconds_total",
		"How long a webhook was open, over all its openings.", []string{"namespace", "csv", "deployment", "type", "webhook"}, nil)
)

// webhookStates are all states, as labels that thousands of series share.
var webhookStates = lists.Map([]managerv1alpha1.WebhookState{
	managerv1alpha1.WebhookWaiting, managerv1alpha1.WebhookRegistered, managerv1alpha1.WebhookUnreachable, managerv1alpha1.WebhookBlocked,
	managerv1alpha1.WebhookDisabled,
}, func(s managerv1alpha1.WebhookState) *dto.LabelPair { return label("state", string(s)) })

func (s statusCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descWebhook, descExpiry, descStart, descRenewal, descPhase, descLost, descRejected, descCondition, descOpen, descUnreachable, descOpenSeconds} {
		to <- d
	}
}

func (s statusCollector) Collect(to chan<- prometheus.Metric) {
	for _, r := range s.rollouts() {
		namespace, csv := label("namespace", r.Namespace), label("csv", r.Name)
		for _, c := range r.Status.Conditions {
			to <- gaugeOf(descCondition, oneIf(c.Status == metav1.ConditionTrue), namespace, csv, label("condition", c.Type), label("reason", c.Reason))
		}
		for _, d := range r.Status.Deployments {
			deployment := label("deployment", d.Name)
			if c := d.Certificate; c != nil {
				to <- gaugeOf(descPhase, 1, namespace, csv, deployment, label("phase", string(c.Phase)))
				to <- gaugeOf(descLost, float64(len(c.LostRegistrations)), namespace, csv, deployment)
				provider := label("provider", string(c.Provider))
				for desc, at := range map[*prometheus.Desc]*metav1.Time{descExpiry: c.NotAfter, descStart: c.NotBefore, descRenewal: c.RenewalTime} {
					if at != nil {
						to <- gaugeOf(desc, float64(at.Unix()), namespace, csv, deployment, provider)
					}
				}
				if rejected := c.Rejected; rejected != nil {
					to <- gaugeOf(descRejected, 1, namespace, csv, deployment, label("issuer", rejected.Issuer), label("object", rejected.Object), label("reason", rejected.Reason))
				}
			}
			for _, w := range d.Registrations() {
				kind, webhook := label("type", string(w.Type)), label("webhook", w.GenerateName)
				for _, state := range webhookStates {
					to <- gaugeOf(descWebhook, oneIf(state.GetValue() == string(w.State)), namespace, csv, deployment, kind, webhook, state)
				}
				for _, from := range w.UnreachableFrom {
					to <- gaugeOf(descUnreachable, 1, namespace, csv, deployment, kind, webhook, label("api_server", from.APIServer))
				}
				if f := w.FailOpen; f != nil {
					to <- gaugeOf(descOpen, openness[f.State], namespace, csv, deployment, kind, webhook)
					to <- counter{gaugeOf(descOpenSeconds, f.OpenFor(s.now()).Seconds(), namespace, csv, deployment, kind, webhook)}
				}
			}
		}
	}
}

// gauge shares its labels. The library's copies would take megabytes for a thousand operators.
type gauge struct {
	desc   *prometheus.Desc
	value  float64
	labels []*dto.LabelPair // in the order of their names, as Prometheus has them
}

func gaugeOf(desc *prometheus.Desc, value float64, labels ...*dto.LabelPair) gauge {
	slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return gauge{desc, value, labels}
}

func (g gauge) Desc() *prometheus.Desc { return g.desc }

func (g gauge) Write(to *dto.Metric) error {
	to.Label, to.Gauge = g.labels, &dto.Gauge{Value: &g.value}
	return nil
}

// counter is a gauge that only grows.
type counter struct{ gauge }

func (c counter) Write(to *dto.Metric) error {
	to.Label, to.Counter = c.labels, &dto.Counter{Value: &c.value}
	return nil
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
