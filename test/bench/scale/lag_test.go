package scale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// BenchmarkLag measures how long after a registration was written the API server calls the
// webhook, while it has a hundred installations to write. From it comes the default of --settle.
func BenchmarkLag(b *testing.B) {
	if !cluster.Audit.Available() {
		b.Skip("a whole cluster has controllers of its own for what this plays: unset KUBECONFIG")
	}
	e := newEnv(b)
	e.playDeployments(0)
	m := e.startManager()
	csvs := e.csvs(100, 0)
	var lags []time.Duration
	for b.Loop() {
		installed := make(chan struct{})
		go func() {
			defer close(installed)
			e.each(csvs, e.createCSV)
			e.allSucceed(csvs)
		}()
		for busy := true; busy; {
			lags = append(lags, e.lag(len(lags)))
			select {
			case <-installed:
				busy = false
			default:
			}
		}
	}
	m.stop()
	b.ReportMetric(float64(len(lags)), "registrations")
	for _, percent := range []int{50, 99} {
		b.ReportMetric(milliseconds(percentile(lags, percent)), fmt.Sprintf("p%d-ms", percent))
	}
	b.ReportMetric(milliseconds(lags[len(lags)-1]), "most-ms")
	b.ReportMetric(0, "ns/op")
	e.clear()
}

// lag registers a webhook that no endpoint answers for, until a request fails for it.
func (e *env) lag(number int) time.Duration {
	e.Helper()
	client := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	label := map[string]string{"lag": fmt.Sprint(number)}
	registered := kube.Create(e, client, unanswered(label))
	defer func() { e.must(client.Delete(e.ctx, registered.Name, metav1.DeleteOptions{})) }()
	return e.timed(func() {
		e.eventually("the webhook is called", func() (bool, error) {
			_, err := e.kube.CoreV1().ConfigMaps(e.namespaces[0]).Create(e.ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "lag-", Labels: label}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
				return true, nil
			}
			return false, err
		})
	})
}

func unanswered(label map[string]string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lag-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "lag.example.com",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1")},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: label},
			Rules:                   []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{""}, []string{"configmaps"})},
		}},
	}
}
