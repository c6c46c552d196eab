package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// statusCollector tells what WebhookRollouts say, whenever it is asked: what is gone is
// told no more, and a standby tells the same as the leader. Rules take the maximum over
// the replicas.
type statusCollector struct {
	rollouts func() []*managerv1alpha1.WebhookRollout
}

var (
	descWebhook = prometheus.NewDesc("olm_webhook_manager_webhook_state",
		"1 for the state that a declared webhook is in, 0 for the others.", []string{"namespace", "csv", "type", "webhook", "state"}, nil)
	descExpiry = prometheus.NewDesc("olm_webhook_manager_certificate_not_after_seconds",
		"When the serving certificate of a Deployment ends, in seconds since 1970.", []string{"namespace", "csv", "deployment", "provider"}, nil)
	descPhase = prometheus.NewDesc("olm_webhook_manager_certificate_phase",
		"1 for the phase that a serving certificate is in.", []string{"namespace", "csv", "deployment", "phase"}, nil)
	descCondition = prometheus.NewDesc("olm_webhook_manager_condition",
		"Whether a condition of a WebhookRollout is True (1) or not (0).", []string{"namespace", "csv", "condition", "reason"}, nil)
)

var webhookStates = []managerv1alpha1.WebhookState{
	managerv1alpha1.WebhookWaiting, managerv1alpha1.WebhookRegistered, managerv1alpha1.WebhookUnreachable, managerv1alpha1.WebhookBlocked,
	managerv1alpha1.WebhookDisabled,
}

// Describe names every metric.
func (s statusCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descWebhook, descExpiry, descPhase, descCondition} {
		to <- d
	}
}

// Collect reads the caches.
func (s statusCollector) Collect(to chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, r := range s.rollouts() {
		for _, c := range r.Status.Conditions {
			tell(descCondition, oneIf(c.Status == metav1.ConditionTrue), r.Namespace, r.Name, c.Type, c.Reason)
		}
		for _, d := range r.Status.Deployments {
			if d.Certificate != nil {
				tell(descPhase, 1, r.Namespace, r.Name, d.Name, string(d.Certificate.Phase))
			}
			if d.Certificate != nil && d.Certificate.NotAfter != nil {
				tell(descExpiry, float64(d.Certificate.NotAfter.Unix()), r.Namespace, r.Name, d.Name, string(d.Certificate.Provider))
			}
			for _, w := range d.Registrations() {
				for _, state := range webhookStates {
					tell(descWebhook, oneIf(w.State == state), r.Namespace, r.Name, string(w.Type), w.GenerateName, string(state))
				}
			}
		}
	}
}

// managedRollouts are those of the namespaces that this manager looks after.
func (c *Controller) managedRollouts() []*managerv1alpha1.WebhookRollout {
	var managed []*managerv1alpha1.WebhookRollout
	for _, r := range c.caches.rollouts.all() {
		if c.inScope(r.Namespace) {
			managed = append(managed, r)
		}
	}
	return managed
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
