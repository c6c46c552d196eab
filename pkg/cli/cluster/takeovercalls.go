package cluster

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// Calls returns the counters of webhook calls of each API server, by its address, and what could not be read.
func (c TakeoverReader) Calls(ctx context.Context) (servers map[string]takeover.Calls, notChecked []string, err error) {
	configs, err := c.apiServerConfigs(ctx)
	if err != nil {
		return nil, nil, err
	}
	servers = map[string]takeover.Calls{}
	for address, config := range configs {
		calls, err := callsOf(ctx, config)
		if err != nil {
			notChecked = append(notChecked, fmt.Sprintf("the metrics of the API server at %s, which count failed calls: %v", address, err))
			continue
		}
		servers[address] = calls
	}
	return servers, notChecked, ctx.Err()
}

// apiServerConfigs returns a configuration for each API server that the Service kubernetes lists, by its address. A single
// one is called at the address of the kubeconfig.
func (c TakeoverReader) apiServerConfigs(ctx context.Context) (map[string]*rest.Config, error) {
	only := map[string]*rest.Config{c.Config.Host: c.Config}
	list, err := c.Kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubernetes"})
	if apierrors.IsForbidden(err) {
		return only, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]*rest.Config{}
	for _, slice := range list.Items {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				if port.Port == nil || len(endpoint.Addresses) == 0 {
					continue
				}
				address := net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port)))
				all[address] = rest.CopyConfig(c.Config)
				all[address].Host, all[address].ServerName = "https://"+address, "kubernetes.default.svc"
			}
		}
	}
	if len(all) < 2 {
		return only, nil
	}
	return all, nil
}

func callsOf(ctx context.Context, config *rest.Config) (takeover.Calls, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return takeover.Calls{}, err
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return takeover.Calls{}, err
	}
	return parseCalls(text)
}

// The metrics of API servers that count calls of webhooks.
const (
	metricRejections  = "apiserver_admission_webhook_rejection_count"
	metricFailOpen    = "apiserver_admission_webhook_fail_open_count"
	metricDuration    = "apiserver_admission_webhook_admission_duration_seconds"
	metricConversions = "apiserver_conversion_webhook_request_total"
	metricConverted   = "apiserver_crd_conversion_webhook_duration_seconds"
	metricUnavailable = "aggregator_unavailable_apiservice_total"
)

// parseCalls reads the metrics of an API server.
func parseCalls(text []byte) (takeover.Calls, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return takeover.Calls{}, err
	}
	calls := takeover.Calls{Failed: map[string]float64{}, Count: map[string]float64{}, Seconds: map[string]float64{}, Within: map[string]map[float64]float64{}}
	for _, m := range families[metricRejections].GetMetric() {
		if labelOf(m, "error_type") != "no_error" { // The webhook answered, and refused the request.
			calls.Failed[labelOf(m, "name")] += m.GetCounter().GetValue()
		}
	}
	for _, m := range families[metricFailOpen].GetMetric() {
		calls.Failed[labelOf(m, "name")] += m.GetCounter().GetValue()
	}
	for _, m := range families[metricUnavailable].GetMetric() {
		calls.Failed["APIService "+labelOf(m, "name")] += m.GetCounter().GetValue()
	}
	for _, m := range families[metricConversions].GetMetric() {
		if labelOf(m, "result") == "failure" {
			calls.Failed["conversion"] += m.GetCounter().GetValue()
		}
	}
	for _, m := range families[metricDuration].GetMetric() {
		addDurations(calls, labelOf(m, "name"), m.GetHistogram())
	}
	for _, m := range families[metricConverted].GetMetric() {
		addDurations(calls, conversionOf(labelOf(m, "crd_name")), m.GetHistogram())
	}
	return calls, nil
}

// conversionOf names the conversion webhook of a definition.
func conversionOf(crd string) string { return "conversion of " + crd }

func addDurations(calls takeover.Calls, webhook string, h *dto.Histogram) {
	calls.Count[webhook] += float64(h.GetSampleCount())
	calls.Seconds[webhook] += h.GetSampleSum()
	if calls.Within[webhook] == nil {
		calls.Within[webhook] = map[float64]float64{}
	}
	for _, b := range h.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 1) {
			calls.Within[webhook][b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
}

// timeoutOfConversions is that of API servers. It cannot be changed.
const timeoutOfConversions = 30 * time.Second

// Timeouts returns the timeouts of calls, by webhook as in Calls. If several webhooks have a name, it is the shortest.
func (c TakeoverReader) Timeouts(ctx context.Context) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	add := func(webhook string, seconds *int32) {
		timeout := time.Duration(ptr.Deref(seconds, 10)) * time.Second
		if known, exists := all[webhook]; !exists || timeout < known {
			all[webhook] = timeout
		}
	}
	validating, err := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, item := range validating.Items {
		for _, w := range item.Webhooks {
			add(w.Name, w.TimeoutSeconds)
		}
	}
	mutating, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, item := range mutating.Items {
		for _, w := range item.Webhooks {
			add(w.Name, w.TimeoutSeconds)
		}
	}
	definitions, err := c.Metadata.Resource(Definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, crd := range definitions.Items {
		all[conversionOf(crd.Name)] = timeoutOfConversions
	}
	return all, nil
}

func labelOf(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
